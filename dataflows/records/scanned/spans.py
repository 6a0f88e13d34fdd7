"""Find where the fields of a column of records are."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.records.scanned.compiled_objects import Flags, scan
from fugu.operators.byte_column import ByteColumn, Bytes
from fugu.operators.compiled.compiling import read_only
from fugu.operators.mechanism import Integers


class Span(NamedTuple):
    """Hold kind, begin and end of one field in each record; where it is absent, only the kind."""

    content: Bytes
    kinds: Bytes
    begins: Integers
    ends: Integers
    sure: Flags


class FieldNames:
    """Hold names of fields, each once, in the form in which records are scanned for them."""

    def __init__(self, names: Iterable[str]) -> None:
        self.rows = {name: row for row, name in enumerate(dict.fromkeys(names))}
        column = ByteColumn.of([name.encode() for name in self.rows])
        self.content = column.content
        self.begins, self.lengths = read_only(column.begins), read_only(column.lengths)


class Spans:
    """Scan records that are not longer than `longest` for some fields.

    `sure` are the records that are scanned without a doubt. Readers of fields take others out.
    """

    def __init__(self, records: OptionalByteColumn, longest: int, names: FieldNames) -> None:
        self._content = np.ascontiguousarray(records.content)
        self._rows = names.rows
        shape = len(names.rows), len(records)
        self._kinds = np.empty(shape, dtype=np.uint8)
        self._begins = np.empty(shape, dtype=np.int64)
        self._ends = np.empty(shape, dtype=np.int64)
        self.sure = np.empty(len(records), dtype=bool)
        scan(
            self._content,
            read_only(records.begins),
            read_only(records.lengths),
            longest,
            names.content,
            names.begins,
            names.lengths,
            self._kinds,
            self._begins,
            self._ends,
            self.sure,
        )

    def of(self, name: str) -> Span:
        """Return where a field is."""
        row = self._rows[name]
        return Span(self._content, self._kinds[row], self._begins[row], self._ends[row], self.sure)
