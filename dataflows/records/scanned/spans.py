"""Find where fields, and items of lists, are in a column of records."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.base.field_paths import Step, steps_of
from fugu.dataflows.records.scanned.compiled_objects import (
    ABSENT,
    CLOSE_LIST,
    CLOSE_OBJECT,
    COMMA,
    LIST,
    OBJECT,
    OPEN_LIST,
    OPEN_OBJECT,
    Flags,
    after_scalar,
    after_spaces,
    scan,
)
from fugu.dataflows.records.scanned.compiled_texts import ONE, QUOTE, UNSURE, after_text
from fugu.operators.columns import ByteColumn, Bytes
from fugu.operators.compiled.compiling import entry_point, part, read_only
from fugu.operators.mechanism import Integers


@part
def _after_nested(content: Bytes, begin: np.uint64, end: np.uint64) -> np.uint64:
    """Return where a list or object ends that begins here."""
    at, depth = begin, 0
    while at < end:
        byte = content[at]
        if byte == QUOTE:
            at, _ = after_text(content, at + ONE, end)
            continue
        at += ONE
        if byte in (OPEN_LIST, OPEN_OBJECT):
            depth += 1
        elif byte in (CLOSE_LIST, CLOSE_OBJECT):
            depth -= 1
            if depth == 0:
                break
    return at


@entry_point
def find_items(
    content: Bytes,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
    place: int,
    item_kinds: Bytes,
    item_begins: Integers,
    item_ends: Integers,
) -> None:
    """Note kind, begin and end of the item at a place of each list; it may be absent."""
    for row in range(len(kinds)):
        item_kinds[row] = ABSENT
        if not sure[row] or kinds[row] != LIST:
            continue
        last = np.uint64(ends[row]) - ONE
        at = after_spaces(content, np.uint64(begins[row]) + ONE, last)
        number = 0
        while at < last:
            value, first = at, content[at]
            if first in (OPEN_LIST, OPEN_OBJECT):
                kind = LIST if first == OPEN_LIST else OBJECT
                at = _after_nested(content, at, last)
            else:
                at, kind = after_scalar(content, at, last)
                if kind == UNSURE:
                    sure[row] = False
                    break
            if number == place:
                item_kinds[row], item_begins[row], item_ends[row] = kind, value, at
                break
            number += 1
            at = after_spaces(content, at, last)
            if at < last and content[at] == COMMA:
                at = after_spaces(content, at + ONE, last)


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
