"""The table of one window, in columns."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import Integers

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
