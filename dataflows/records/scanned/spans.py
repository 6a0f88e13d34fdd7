"""Find where the fields of a column of records are."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.base.field_paths import Step, steps_of
from fugu.dataflows.records.scanned.compiled_items import find_items
from fugu.dataflows.records.scanned.compiled_objects import ABSENT, OBJECT, Flags, scan
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
    """Hold the names of fields of one object, each once, in the form in which it is scanned.

    Paths lead through `inside`, where the next steps are: other names, or places of a list.
    """

    def __init__(self, paths: Iterable[tuple[Step, ...]]) -> None:
        rest: dict[Step, list[tuple[Step, ...]]] = {}
        for first, *further in paths:
            beyond = rest.setdefault(first, [])
            beyond += [tuple(further)] if further else []
        self.inside = {step: FieldNames(beyond) for step, beyond in rest.items()}
        texts = [step for step in rest if isinstance(step, str)]
        self.rows = {name: row for row, name in enumerate(texts)}
        column = ByteColumn.of([name.encode() for name in self.rows])
        self.places = [step for step in rest if isinstance(step, int)]
        self.content = column.content
        self.begins, self.lengths = read_only(column.begins), read_only(column.lengths)

    @classmethod
    def of(cls, names: Iterable[str]) -> "FieldNames":
        """Return the fields that these names and paths ask for."""
        return cls(steps_of(name) for name in dict.fromkeys(names))


class Spans:
    """Scan records that are not longer than `longest` for some fields.

    `sure` are the records that are scanned without a doubt. Readers of fields take others out.
    An object on the way to a field is scanned in its turn.
    """

    def __init__(self, records: OptionalByteColumn, longest: int, names: FieldNames) -> None:
        self._content = np.ascontiguousarray(records.content)
        self._found: dict[tuple[Step, ...], Span] = {}
        self.sure = np.empty(len(records), dtype=bool)
        lengths = read_only(records.lengths)
        self._scan(names, (), read_only(records.begins), lengths, longest, self.sure)

    def of(self, name: str) -> Span:
        """Return where a field is."""
        return self._found[steps_of(name)]

    def _scan(
        self,
        names: FieldNames,
        outer: tuple[Step, ...],
        begins: Integers,
        lengths: Integers,
        longest: int,
        sure: Flags,
    ) -> None:
        """Find the fields of one object of each record, and what is inside of them."""
        shape = len(names.rows), len(begins)
        kinds = np.full(shape, ABSENT, dtype=np.uint8)
        starts, ends = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
        asked = names.content, names.begins, names.lengths
        scan(self._content, begins, lengths, longest, *asked, kinds, starts, ends, sure)
        for name, row in names.rows.items():
            self._found[*outer, name] = Span(
                self._content, kinds[row], starts[row], ends[row], self.sure
            )
        for name in names.rows:
            self._look_inside(names.inside[name], (*outer, name))

    def _look_inside(self, names: FieldNames, outer: tuple[Step, ...]) -> None:
        if not names.inside:
            return
        span = self._found[outer]
        for place in names.places:
            kinds = np.empty_like(span.kinds)
            begins, ends = np.empty_like(span.begins), np.empty_like(span.ends)
            find_items(*span, place, kinds, begins, ends)
            self._found[*outer, place] = Span(self._content, kinds, begins, ends, self.sure)
            self._look_inside(names.inside[place], (*outer, place))
        if names.rows:
            there = self.sure & (span.kinds == OBJECT)
            lengths = read_only(np.where(there, span.ends - span.begins, 0))
            begins = read_only(np.where(there, span.begins, 0))
            fine = np.empty(len(there), dtype=bool)
            self._scan(names, outer, begins, lengths, len(self._content), fine)
            np.logical_and(self.sure, fine | (span.kinds != OBJECT), out=self.sure)
