"""Write wanted fields of a column of records as JSON, for the scanner to read."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np

from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.records.scanned.compiled_objects import Flags
from fugu.dataflows.records.scanned.json_pieces import Into, Source
from fugu.operators.compiled.compiling import read_only
from fugu.operators.mechanism import Integers


class Projected(NamedTuple):
    """Hold wanted fields as JSON; where a record is not `sure`, they mean nothing."""

    records: OptionalByteColumn
    sure: Flags


class Projecting(Protocol):
    """Write wanted fields of records of one schema."""

    @property
    def most_written(self) -> int:
        """Return how many bytes a record becomes at most, beside its own texts."""
        ...

    def project(self, source: Source, rows: Integers, prefix: int, into: Into) -> None:
        """Write the fields of these rows, which have so many bytes in front of their content."""
        ...


def projected(
    records: OptionalByteColumn, prefix: int, parts: Iterable[tuple[Integers, Projecting]]
) -> Projected:
    """Return the wanted fields of records, some of which have each program."""
    parts, count = list(parts), len(records)
    sizes = (len(rows) * program.most_written for rows, program in parts)
    texts = int(np.maximum(records.lengths, 0).sum())
    source = Source(
        np.ascontiguousarray(records.content), read_only(records.begins), read_only(records.lengths)
    )
    into = Into(
        np.empty(sum(sizes) + texts, dtype=np.uint8),
        np.zeros(count, dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        np.zeros(count, dtype=bool),
    )
    for rows, program in parts:
        program.project(source, read_only(rows), prefix, into)
    return Projected(OptionalByteColumn(into.content, into.begins, into.lengths), into.sure)
