"""Write many JSON objects that have the same fields, column by column."""

from collections.abc import Mapping, Sequence

import numpy as np
import orjson

from fugu.dataflows.records.json_fields import WORTH_JSON_WRITING
from fugu.operators import compiled
from fugu.operators.columns import ByteColumn, bytes_of

Field = bytes | ByteColumn
"""The same in every row, or a column."""
_COMMA = ord(",")


def json_column(values: Sequence[object]) -> ByteColumn:
    """Write each value as JSON.

    >>> list(json_column([1, -0.5, None, True, "a, b"]))
    [b'1', b'-0.5', b'null', b'true', b'"a, b"']
    """
    content = bytes_of(orjson.dumps(values))
    commas = np.flatnonzero(content == _COMMA)
    if len(commas) != len(values) - 1:  # there are none, or one of them has a comma in it
        return ByteColumn.of(list(map(orjson.dumps, values)))
    begins = np.concatenate([[1], commas + 1])
    return ByteColumn(content, begins, np.append(commas, len(content) - 1) - begins)


def joined(count: int, *parts: Field) -> Sequence[bytes]:
    """Return the parts of each of so many rows, joined.

    >>> list(joined(2, b'{"at":', ByteColumn.of([b"3", b"5"]), b"}"))
    [b'{"at":3}', b'{"at":5}']
    """
    columns = [
        ByteColumn.repeated(part, count) if isinstance(part, bytes) else part for part in parts
    ]
    if count < WORTH_JSON_WRITING or not compiled.available():
        return list(map(b"".join, zip(*columns, strict=True)))
    from fugu.dataflows.records.compiled_writing import join_columns

    return join_columns(columns)


def written_objects(count: int, fields: Mapping[str, Field], end: bytes = b"}") -> Sequence[bytes]:
    """Write an object of each of so many rows, whose fields are JSON already.

    >>> list(written_objects(2, {"at": json_column([3, 5]), "known": b"true"}))
    [b'{"at":3,"known":true}', b'{"at":5,"known":true}']
    """
    before, parts = b"{", list[Field]()
    for name, content in fields.items():
        before += orjson.dumps(name) + b":"
        if isinstance(content, bytes):
            before += content
        else:
            parts += [before, content]
            before = b""
        before += b","
    return joined(count, *parts, before[:-1] + end)
