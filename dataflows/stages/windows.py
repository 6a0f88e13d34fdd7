"""Put the people of a window together, whom all partitions told of: rows and numbered points.

Nothing depends on the order in which partitions or records came: rows are in the order of their
first event time, then of users; points are numbered in the order of time, then of locations.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import orjson

from fugu.dataflows.stages.window_people import Point, WindowPeople, later, read_points
from fugu.operators.anonymity.records import Table
from fugu.operators.anonymity.windows import ReleasedRow, released_rows
from fugu.operators.byte_fields import binding_digest, encode_fields

Place = tuple[int, str | int]
"""A quantum of the window, and a location."""


@dataclass(frozen=True)
class WindowTable:
    """Hold the table of a window, and what the numbers of points stand for."""

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
