"""Hold the table of a window, and number everything that an attacker may know of it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import Integers

LARGEST_DENOMINATOR = 10**9
"""Bound shares, so that their products with counts of rows fit into 64 bits."""


@dataclass(frozen=True)
class Limits:
    """Hold what every knowledge of `known_points` points at most must leave open: `people` behind
    it, and no category with a share above `confidence`; `linked`: rows of a user are recognised.

    Errors: `people` below 2, `known_points` below 1, a `confidence` that is no fraction, not
    between 0 and 1, or has a denominator above 10^9.
    """

    people: int
    known_points: int
    confidence: Fraction
    linked: bool = False

    def __post_init__(self) -> None:
        if self.people < 2:
            raise ValueError("people: K must be at least 2; one person is no crowd")
        if self.known_points < 1:
            raise ValueError("known_points: rho must be at least 1")
        if not isinstance(self.confidence, Fraction):
            raise ValueError("confidence: sigma must be an exact fraction, such as 1/2")
        if not 0 < self.confidence < 1:
            raise ValueError("confidence: sigma must lie between 0 and 1, without either")
        if self.confidence.denominator > LARGEST_DENOMINATOR:
            raise ValueError("confidence: write sigma with a denominator of at most 1,000,000,000")


Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Record:
    """Hold one row: the index of a user, points in the order of time, and the index of a value."""

    user: int
    points: tuple[int, ...]
    value: int


@dataclass(frozen=True, eq=False)
class Table:
    """Hold the rows of a window in their order, which every tie is broken by.

    `users` and `values` (indices in the taxonomy) have one number per row. The points of row i are
    `points[offsets[i]:offsets[i + 1]]`. A point stands for a place and a quantum of time. Points
    are numbered in the order of time, so that the points of a row increase. `meaning` identifies
    what the numbers of users and points stand for, so that draws are bound to that, too.

    Errors: columns of other lengths, negative numbers, points of a row that do not increase (the
    trajectory is not in the order of time, or has a point twice).

    >>> table = Table.of([Record(0, (3, 8), 2), Record(1, (), 4)])
    >>> len(table), table.trajectory(0).tolist(), table.lengths.tolist()
    (2, [3, 8], [2, 0])

    Source: anonymisation specification, section 1.
    """

    users: Integers
    offsets: Integers
    points: Integers
    values: Integers
    meaning: bytes = b""

    def __post_init__(self) -> None:
        rows = len(self.users)
        if len(self.values) != rows or len(self.offsets) != rows + 1:
            raise ValueError("table: needs a value and a trajectory for each row")
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.points):
            raise ValueError("table: offsets do not begin at 0 and end with the points")
        if (self.lengths < 0).any():
            raise ValueError("table: offsets decrease")
        for name in ("users", "points", "values"):
            if (getattr(self, name) < 0).any():
                raise ValueError(f"table: {name} has a negative number")
        wrong = np.flatnonzero((np.diff(self.points) <= 0) & (np.diff(self.rows_of_points) == 0))
        if len(wrong):
            raise ValueError(
                f"table: row {int(self.rows_of_points[wrong[0]])} is not in the order of time, or "
                "has a point twice"
            )

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Table":
        """Return the table of these rows."""
        rows = list(records)
        lengths = [len(row.points) for row in rows]
        return cls(
            users=np.array([row.user for row in rows], dtype=np.int64),
            offsets=np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64),
            points=np.array([point for row in rows for point in row.points], dtype=np.int64),
            values=np.array([row.value for row in rows], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.users)

    @property
    def lengths(self) -> Integers:
        """Return how many points each row has."""
        return np.diff(self.offsets)

    @property
    def rows_of_points(self) -> Integers:
        """Return the row of each point."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def people(self) -> int:
        """Return how many users there are."""
        return len(np.unique(self.users))

    def trajectory(self, row: int) -> Integers:
        """Return the points of a row."""
        return self.points[self.offsets[row] : self.offsets[row + 1]]

    def with_points(self, kept: Booleans) -> "Table":
        """Return the same rows with some of the points."""
        lengths = np.bincount(self.rows_of_points[kept], minlength=len(self))
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return replace(self, offsets=offsets, points=self.points[kept])

    def with_rows(self, rows: Integers) -> "Table":
        """Return some of the rows, in this order."""
        lengths = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        points = self.points[np.repeat(self.offsets[rows], lengths) + within]
        users, values = self.users[rows], self.values[rows]
        return replace(self, users=users, offsets=offsets, points=points, values=values)


Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Hold the occurrences of all sub-trajectories ("pieces") of few points in a table.

    An occurrence is a row and a piece that it contains. Occurrences are numbered by the size of the
    piece, then by row, then by the places of its points in the row, lexicographically; so the first
    occurrence of a piece says where the specification's order has it. `pieces` has the number of
    the piece of each occurrence. `begins[m - 1, row]` is the first occurrence of size m in a row,
    `begins[m - 1, rows]` the end of the size. Occurrences of size 1 are the points of the table.

    >>> from fugu.operators.anonymity.knowledge import Record
    >>> known = Knowledge.of(Table.of([Record(0, (3, 5), 0), Record(1, (3, 4, 5), 0)]), 2)
    >>> known.pieces.tolist(), known.begins.tolist(), known.count
    ([0, 2, 0, 1, 2, 4, 3, 4, 5], [[0, 2, 5], [5, 6, 9]], 6)
    """

    begins: Integers
    pieces: Numbers
    count: int
    choose: Integers

    @classmethod
    def of(cls, table: Table, known_points: int) -> "Knowledge":
        """Return all sub-trajectories of so many points at most."""
        lengths = table.lengths
        longest = int(lengths.max(initial=0))
        choose = _binomials(longest, known_points)
        per_row = choose[lengths, 1:].T
        ends = np.cumsum(per_row.ravel())
        starts = (ends - per_row.ravel()).reshape(known_points, len(table))
        begins = np.column_stack([starts, ends.reshape(known_points, len(table))[:, -1:]])
        ends_of_rows = np.repeat(table.offsets[1:], lengths)
        points = np.unique(table.points, return_inverse=True)[1].ravel()
        number = int(points.max(initial=-1)) + 1
        sized, count = [points.astype(np.int32)], number
        pieces, last = points, np.arange(len(points))
        for _ in range(1, known_points):
            further = ends_of_rows[last] - last - 1
            extended = np.repeat(pieces, further)
            behind = np.cumsum(further) - further
            last = np.arange(len(extended)) + np.repeat(last + 1 - behind, further)
            keys = extended * number + points[last]
            distinct, pieces = np.unique(keys, return_inverse=True)
            sized.append((pieces + count).astype(np.int32))
            count += len(distinct)
        return cls(begins, np.concatenate(sized), count, choose)

    def __len__(self) -> int:
        return len(self.pieces)


def _binomials(largest: int, size: int) -> Integers:
    """Return how many subsets of each size a set has, shape `(largest + 1, size + 1)`."""
    choose = np.zeros((largest + 1, size + 1), dtype=np.int64)
    choose[:, 0] = 1
    for number in range(1, largest + 1):
        choose[number, 1:] = choose[number - 1, 1:] + choose[number - 1, :-1]
    return choose


def occurrences(table: Table, known_points: int) -> int:
    """Return how many occurrences a table has: memory is in proportion to it."""
    lengths, counts = np.unique(table.lengths, return_counts=True)
    sizes = range(1, known_points + 1)
    return sum(
        count * sum(comb(length, size) for size in sizes)
        for length, count in zip(lengths.tolist(), counts.tolist(), strict=True)
    )


Reason = Literal["people", "base-rate", "size"]
Where = Literal["input", "output"]

LARGEST_WINDOW = 200_000_000
"""Bound the occurrences of sub-trajectories in a window: each takes about 120 bytes of memory."""

_TEXTS: dict[Reason, str] = {
    "people": "{place} has fewer people than K",
    "base-rate": "one category has a larger share of {place} than the confidence allows",
    "size": (
        "{place} has more sub-trajectories of rho points than fit into memory "
        "({most:,}); allow fewer points of a person, fewer people, or a smaller rho"
    ),
}


class Infeasible(Exception):
    """Say that a window has no release that keeps the bounds, and nothing of it is released.

    `reason`: fewer `people` than the crowd that is asked for; the `base-rate`, a category whose
    share of all records exceeds the confidence, so that somebody who knows no point knows too much;
    or its `size`. `where`: in the input, or among the rows that keep points.

    >>> print(Infeasible("people", "input"))
    the input has fewer people than K
    """

    def __init__(self, reason: Reason, where: Where) -> None:
        place = {"input": "the input", "output": "what is left of the window"}[where]
        super().__init__(_TEXTS[reason].format(place=place, most=LARGEST_WINDOW))
        self.reason = reason
        self.where = where


def check_size(table: Table, limits: Limits) -> None:
    """Raise `Infeasible` if the sub-trajectories of a window are too many to be counted."""
    if occurrences(table, limits.known_points) > LARGEST_WINDOW:
        raise Infeasible("size", "input")


def check_base_rate(table: Table, categories: Integers, limits: Limits, where: Where) -> None:
    """Raise `Infeasible` if knowledge of no point breaks a bound; an empty table breaks none.

    Source: anonymisation specification, section 4 (the empty knowledge).
    """
    if not len(table):
        return
    if table.people < limits.people:
        raise Infeasible("people", where)
    if Fraction(int(np.bincount(categories).max()), len(table)) > limits.confidence:
        raise Infeasible("base-rate", where)
