"""Find where the fields of a column of records are."""

from collections.abc import Sequence
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


class Spans:
    """Scan records that are not longer than `longest` for some fields.

    `sure` are the records that are scanned without a doubt. Readers of fields take others out.
    """

    def __init__(self, records: OptionalByteColumn, longest: int, names: Sequence[str]) -> None:
        self._content = np.ascontiguousarray(records.content)
        self._fields = {name: field for field, name in enumerate(dict.fromkeys(names))}
        shape = len(self._fields), len(records)
        self._kinds = np.empty(shape, dtype=np.uint8)
        self._begins = np.empty(shape, dtype=np.int64)
        self._ends = np.empty(shape, dtype=np.int64)
        self.sure = np.empty(len(records), dtype=bool)
        wanted = ByteColumn.of([name.encode() for name in self._fields])
        scan(
            self._content,
            read_only(records.begins),
            read_only(records.lengths),
            longest,
            wanted.content,
            read_only(wanted.begins),
            read_only(wanted.lengths),
            self._kinds,
            self._begins,
            self._ends,
            self.sure,
        )

    def of(self, name: str) -> Span:
        """Return where a field is."""
        row = self._fields[name]
        return Span(self._content, self._kinds[row], self._begins[row], self._ends[row], self.sure)
