"""Number everything that an attacker can know: all sub-trajectories, and the rows that match."""

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from fugu.operators.anonymity.records import Table
from fugu.operators.mechanism import Integers

Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Hold the occurrences of all sub-trajectories ("pieces") of few points in a table.

    An occurrence is a row and a piece that it contains. Occurrences are numbered by the size of the
    piece, then by row, then by the places of its points in the row, lexicographically; so the first
    occurrence of a piece says where the specification's order has it. `pieces` has the number of
    the piece of each occurrence. `begins[m - 1, row]` is the first occurrence of size m in a row,
    `begins[m - 1, rows]` the end of the size. Occurrences of size 1 are the points of the table.

    >>> from fugu.operators.anonymity.records import Record
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
