"""Gather where people were in a window, and put the windows of all partitions together."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.ticks import CLOSED, NO_TICK, Passed, Ticks
from fugu.dataflows.records.visits import visit_of
from fugu.dataflows.stages.bounding import Bounding, cells_of
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_block import Body, string_bytes, written
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.anonymity.knowledge import Table
from fugu.operators.anonymity.windows import ReleasedRow, released_rows
from fugu.operators.columns import ByteColumn, binding_digest, encode_fields
from fugu.operators.mechanism import Array, Integers, State

PART_BYTES = 400_000
"""Close an entry when it holds so many bytes: with one more person it fits a message of 1 MB."""
Point = tuple[int, int, int, str | int]
"""A quantum of the window, the event time, the index of a sensitive value, and the location."""


@dataclass(frozen=True)
class WindowPeople:
    """Hold people of a window of one partition, and the points of each as JSON.

    It is entry `part` of `parts` of them. So many windows right before this one were `skipped`, in
    which nobody can have been.
    """

    partition: int
    tick: int
    people: Sequence[bytes] = ()
    points: Sequence[bytes] = ()
    part: int = 0
    parts: int = 1
    skipped: int = 0

    def encoded(self) -> bytes:
        """Return the block that the log holds."""
        header = {
            "partition": self.partition,
            "tick": self.tick,
            "people": len(self.people),
            "part": self.part,
            "parts": self.parts,
            "skipped": self.skipped,
        }
        columns = (ByteColumn.of(column) for column in (self.people, self.points))
        return written(header, [part for column in columns for part in string_bytes(column)])

    @classmethod
    def of(cls, header: dict[str, Any], body: Body) -> "WindowPeople":
        """Return what a block of `encoded` holds."""
        people, points = (list(body.take_strings(header["people"])) for _ in range(2))
        names = ("part", "parts", "skipped")
        place = (header["partition"], header["tick"])
        return cls(*place, people, points, *(header[name] for name in names))


def in_parts(
    partition: int, tick: int, people: Sequence[bytes], points: Sequence[bytes]
) -> list[WindowPeople]:
    """Return the entries of a window of a partition: at least one.

    A window in which nobody was has an entry in the log too, because the merge waits for it. One of
    many people has several entries, each of which fits a Kafka message.
    """
    sizes = np.array([len(a) + len(b) for a, b in zip(people, points, strict=True)], dtype=np.int64)
    number = (np.cumsum(sizes) - sizes) // PART_BYTES
    cuts = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(people)]
    spans = list(pairwise(cuts))
    return [
        WindowPeople(partition, tick, people[a:b], points[a:b], part, len(spans))
        for part, (a, b) in enumerate(spans)
    ]


def written_points(points: Iterable[Point]) -> bytes:
    """Return points in the order of time, as JSON."""
    return orjson.dumps(sorted(points, key=lambda point: point[0]))


def read_points(content: bytes) -> list[Point]:
    """Return what `written_points` gave."""
    return [(quantum, time, value, where) for quantum, time, value, where in orjson.loads(content)]


def later(point: Point) -> tuple[int, bytes, int]:
    """Return what decides between two points of a person in one quantum: the larger one counts."""
    _, time, sensitive, location = point
    return time, orjson.dumps(location), sensitive


Place = tuple[int, str | int]
"""A quantum of the window, and a location."""


@dataclass(frozen=True)
class WindowTable:
    """Hold the table of a window, and what the numbers of points stand for.

    Nothing depends on the order in which partitions or records came: rows are in the order of their
    first event time, then of users; points are numbered in the order of time, then of locations.
    """

    table: Table
    places: list[Place]

    @classmethod
    def of(cls, parts: Iterable[WindowPeople]) -> "WindowTable":
        """Return the table of all people. A row is what one person has with one sensitive value."""
        people: dict[bytes, dict[int, Point]] = defaultdict(dict)
        for part in parts:
            for key, content in zip(part.people, part.points, strict=True):
                points = people[key]
                for point in read_points(content):
                    points[point[0]] = max(points.get(point[0], point), point, key=later)
        rows = sorted(row for key, points in people.items() for row in _rows_of(key, points))
        named = {(point[0], orjson.dumps(point[3])): point for *_, own in rows for point in own}
        order = sorted(named)
        numbers = {name: number for number, name in enumerate(order)}
        users = {key: number for number, key in enumerate(sorted(people))}
        numbered = [
            numbers[point[0], orjson.dumps(point[3])]
            for *_, own in rows
            for point in sorted(own, key=lambda one: one[0])
        ]
        places: list[Place] = [(named[name][0], named[name][3]) for name in order]
        lengths = [len(own) for *_, own in rows]
        table = Table(
            users=np.array([users[key] for _, key, _, _ in rows], dtype=np.int64),
            offsets=np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64),
            points=np.array(numbered, dtype=np.int64),
            values=np.array([value for _, _, value, _ in rows], dtype=np.int64),
            meaning=binding_digest(orjson.dumps(places), encode_fields(*users)),
        )
        return cls(table, places)

    def placed(self, row: ReleasedRow) -> list[Place]:
        """Return the points of a released row."""
        return [self.places[number] for number in row.points]


@dataclass(frozen=True)
class AnonymousRecord:
    """Hold one record that is released: its key, the index of its category, and its points."""

    key: bytes
    category: int
    points: list[Place]


@dataclass(frozen=True)
class AnonymousWindow:
    """Hold what is released of a window, in the order of the release; None: it is suppressed."""

    tick: int
    records: list[AnonymousRecord] | None

    @classmethod
    def of(cls, tick: int, window: WindowTable, payload: bytes | None) -> "AnonymousWindow":
        """Return what the mechanism released of a window."""
        if payload is None:
            return cls(tick, None)
        rows = released_rows(payload)
        return cls(
            tick, [AnonymousRecord(row.key, row.category, window.placed(row)) for row in rows]
        )


def _rows_of(key: bytes, points: dict[int, Point]) -> Iterable[tuple[int, bytes, int, list[Point]]]:
    by_value: dict[int, list[Point]] = defaultdict(list)
    for point in points.values():
        by_value[point[2]].append(point)
    for value, own in by_value.items():
        yield min(point[1] for point in own), key, value, own


@dataclass(frozen=True)
class Gathering(Bounding[WindowPeople]):
    """Gather points of one partition's users, in a `quantum` of milliseconds one each.

    A quantum of time has one point of a person: the one of the latest record in event time, of two
    at the same time the larger location, so that the order in which records arrive does not matter.

    A window has `max_people` in this partition, and a person `max_points` in it: a record of one
    more is refused. So is one with another sensitive value than the person has in the window,
    unless `linked` windows have a record for each value of a person.
    """

    ticks: Ticks
    quantum: int
    max_people: int
    max_points: int
    linked: bool
    admission: Admission

    held: ClassVar[tuple[str, ...]] = ("points",)

    def start(self, rows: int) -> State:
        """Return the columns of fresh rows."""
        return window_cells(self.ticks, rows)

    def rest(self, partition: int, table: RowTable) -> list[WindowPeople]:
        """Return the people of all windows that are open, and close them: nothing more comes."""
        last = int(table.live("tick").max(initial=NO_TICK))
        if CLOSED not in table.clock:
            return []
        return self._close(
            partition, table, Passed(range(table.clock[CLOSED] + 1, last + 1), range(0))
        )

    def _note(
        self, table: RowTable, rows: Integers, cells: Integers, times: Integers, values: Array
    ) -> dict[int, Reason]:
        """Write points into their cells, in order; return the records that are refused."""
        refused: dict[int, Reason] = {}
        open_cells: dict[tuple[int, int], dict[int, Point]] = {}
        crowds: dict[int, int] = {}
        contents, names = table.columns["points"], table.columns["tick"]
        places = zip(rows.tolist(), cells.tolist(), times.tolist(), values.tolist(), strict=True)
        for number, (row, cell, time, value) in enumerate(places):
            tick, content = self.ticks.of(time), contents[row, cell]
            points = open_cells.get((row, cell))
            if points is None:
                there = content is not None and names[row, cell] == tick
                points = {point[0]: point for point in read_points(content)} if there else {}
            if not points:
                if cell not in crowds:
                    crowds[cell] = len(self._present(table, cell, tick))
                if crowds[cell] >= self.max_people:
                    refused[number] = Reason.TOO_MANY_PEOPLE
                    continue
            sensitive, location = visit_of(value)
            quantum = (time - tick * self.ticks.width) // self.quantum
            reason = self._refusal(points, quantum, sensitive)
            if reason is not None:
                refused[number] = reason
                continue
            if not points:
                crowds[cell] += 1
                names[row, cell] = tick
            point = (quantum, time, sensitive, location)
            points[quantum] = max(points.get(quantum, point), point, key=later)
            open_cells[row, cell] = points
        for (row, cell), points in open_cells.items():
            contents[row, cell] = written_points(points.values())
        table.touch(rows)
        return refused

    def _refusal(self, points: dict[int, Point], quantum: int, sensitive: int) -> Reason | None:
        if not self.linked and any(point[2] != sensitive for point in points.values()):
            return Reason.OTHER_SENSITIVE_VALUE
        if quantum not in points and len(points) >= self.max_points:
            return Reason.TOO_MANY_POINTS
        return None

    def _present(self, table: RowTable, cell: int, tick: int) -> Integers:
        """Return the rows of people who have points in a window."""
        rows: Integers = np.flatnonzero(table.live("tick")[:, cell] == tick)
        contents = table.live("points")[rows, cell].tolist()
        there: Integers = rows[np.array([content is not None for content in contents], dtype=bool)]
        return there

    def _of_tick(self, partition: int, table: RowTable, tick: int) -> list[WindowPeople]:
        columns, cell = table.columns, tick % self.ticks.open
        rows = self._present(table, cell, tick)
        people, points = list(table.keys_of(rows)), columns["points"][rows, cell].tolist()
        columns["points"][rows, cell] = None
        columns["tick"][rows, cell] = NO_TICK
        table.touch(rows)
        return in_parts(partition, tick, people, points)

    def _skipped(self, partition: int, ticks: range) -> WindowPeople:
        return WindowPeople(partition, ticks[-1], skipped=len(ticks) - 1)


def window_cells(ticks: Ticks, rows: int) -> State:
    """Return the columns of fresh rows."""
    return cells_of(ticks, rows, {"points": np.array(None, dtype=object)})
