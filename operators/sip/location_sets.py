"""Delta-location sets: the cells that a belief holds to be likely, and who stands in for others.

All of it follows from beliefs, which are public, and from distances. Arrays are `(cells, rows)`,
one column per stream; the arithmetic is one running sum in a fixed order, and comparisons.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.mechanism import Array, Floats, Integers


@dataclass(frozen=True, eq=False)
class LocationSets:
    """Hold one set of cells for each stream.

    `ranked (cells, rows)` lists the cells from the most to the least likely, ties by index, and the
    first `sizes (rows,)` of each column are members.

    >>> sets = LocationSets.of(np.array([[0.2], [0.5], [0.2], [0.1]]), mass=0.8)
    >>> sets.ranked[:, 0].tolist(), sets.sizes.tolist()
    ([1, 0, 2, 3], [3])
    """

    ranked: Integers
    sizes: Integers

    @classmethod
    def of(cls, belief: Floats, mass: float) -> "LocationSets":
        """Return the smallest sets that hold so much of each column of `belief`."""
        ranked = np.argsort(-belief, axis=0, kind="stable")
        held = np.add.accumulate(np.take_along_axis(belief, ranked, axis=0), axis=0)
        before = (held < mass).sum(axis=0)
        return cls(ranked, np.minimum(before + 1, len(belief)))

    @cached_property
    def ranks(self) -> Integers:
        """Return the place of each cell in `ranked`, `(cells, rows)`."""
        ranks = np.empty_like(self.ranked)
        np.put_along_axis(ranks, self.ranked, np.indices(self.ranked.shape)[0], axis=0)
        return ranks

    @cached_property
    def members(self) -> Array:
        """Return which cells are members, `(cells, rows)`."""
        return np.asarray(self.ranks < self.sizes)

    def stand_ins(self, nearest: Integers, cells: Integers, rows: Integers) -> Integers:
        """Return the nearest member to each of these cells, in the set of the row beside it.

        `nearest (cells, cells)` lists all cells by their distance from each (`by_distance`).
        """
        found = cells.copy()
        open_ = np.flatnonzero(~self.members[cells, rows])
        place = 0
        while len(open_):
            place += 1
            found[open_] = nearest[cells[open_], place]
            open_ = open_[~self.members[found[open_], rows[open_]]]
        return found


def by_distance(table: Floats) -> Integers:
    """List the cells by their distance from each one: itself first, ties by index.

    >>> by_distance(np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]])).tolist()
    [[0, 2, 1], [1, 2, 0], [2, 0, 1]]
    """
    apart = table.copy()
    np.fill_diagonal(apart, -1.0)
    return np.argsort(apart, axis=1, kind="stable")
