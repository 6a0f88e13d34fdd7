"""Write who was where in a window: raw rows of one source partition, for the internal log.

A window in which nobody was has an entry in the log too, because the merge waits for it. One of
many people has several entries, each of which fits a Kafka message.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import orjson

from fugu.dataflows.state.row_block import Body, string_bytes, written
from fugu.operators.byte_column import ByteColumn

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
    """Return the entries of a window of a partition: at least one."""
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
