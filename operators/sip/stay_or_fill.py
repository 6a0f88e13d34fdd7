"""A proposal of rank two."""

from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.markov_model import ordered_sum
from fugu.operators.sip.proposal import Mask


@dataclass(frozen=True, eq=False)
class StayOrFill:
    """Keep x with probability `own[x]`, else move it to a symbol drawn from a shared fill row.

    It has rank two, so memory is O(n) per stream. All arrays are `(n, rows)`.

    The fill is `partial_fill` for the symbol marked in `partial`, and `fill` for every other one.
    `own` is 1 on at least two symbols, or on one while another has a `partial` of its own, or
    `constant` marks the one symbol that the column releases.
    """

    support: Mask
    own: Floats
    fill: Floats
    partial: Mask
    partial_fill: Floats
    constant: Mask

    def columns(self, columns: Integers) -> "StayOrFill":
        """Return some of its columns."""
        return StayOrFill(*(getattr(self, name)[:, columns] for name in self.__dataclass_fields__))

    def with_columns(self, columns: Integers, other: "StayOrFill") -> "StayOrFill":
        """Return itself, with the given columns replaced by those of `other`."""
        replaced = {name: getattr(self, name).copy() for name in self.__dataclass_fields__}
        for name, column in replaced.items():
            column[:, columns] = getattr(other, name)
        return StayOrFill(**replaced)

    def silenced(self, silent: Mask, constants: Integers) -> "StayOrFill":
        """Return itself with the columns that are `silent` releasing their constant alone."""
        constant = silent & (np.arange(len(self.own))[:, None] == constants)
        single = np.where(constant, 1.0, 0.0)
        return StayOrFill(
            support=np.where(silent, constant, self.support),
            own=np.where(silent, single, self.own),
            fill=np.where(silent, single, self.fill),
            partial=self.partial & ~silent,
            partial_fill=np.where(silent, 0.0, self.partial_fill),
            constant=np.where(silent, constant, self.constant),
        )

    def marginal(self, belief: Floats) -> Floats:
        """Return b(y) = sum_x beta(x) pi(y|x)."""
        moved = belief * (1.0 - self.own)
        from_partial = ordered_sum(np.where(self.partial, moved, 0.0))
        from_others = ordered_sum(np.where(self.partial, 0.0, moved))
        spread = belief * self.own + from_others * self.fill + from_partial * self.partial_fill
        return np.where(self.constant, self.own, spread)

    def largest(self) -> Floats:
        """Return kappa(y) = max over all x of pi(y|x), as if one symbol surely moved by `fill`."""
        stays = self.own + (1.0 - self.own) * np.where(self.partial, self.partial_fill, self.fill)
        moved = ordered_sum(np.where(self.partial, 1.0 - self.own, 0.0))
        return np.maximum(np.maximum(stays, self.fill), moved * self.partial_fill)

    def smallest(self) -> Floats:
        """Return 0 unless the output is constant: a symbol that stays moves nowhere."""
        return np.where(self.constant, self.own, 0.0)

    def row(self, symbols: Integers) -> Floats:
        """Return pi(y|x) over y, for the one x of each column."""
        columns = np.arange(len(symbols))
        own = self.own[symbols, columns]
        fill = np.where(self.partial[symbols, columns], self.partial_fill, self.fill)
        row = (1.0 - own) * fill
        row[symbols, columns] += own
        return row

    def column(self, released: Integers) -> Floats:
        """Return pi(y|x) over x, for the one y of each column."""
        columns = np.arange(len(released))
        into = np.where(
            self.partial, self.partial_fill[released, columns], self.fill[released, columns]
        )
        column = (1.0 - self.own) * into
        column[released, columns] += self.own[released, columns]
        return column
