"""Running sums of beliefs over ordered symbols."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.mechanism import Array, Floats, Integers

_FEW_SYMBOLS = 24
"""Up to here they are counted sooner than searched."""


@dataclass(frozen=True, eq=False)
class RunningSums:
    """Sum beliefs over ordered symbols, so that any interval takes one step.

    Everything is `(n, rows)`, or `(n + 1, rows)` for sums over what comes before each symbol;
    places, levels and what is made of them are `(..., rows)`. Sums run in symbol order.

    >>> sums = RunningSums(np.array([[0.2], [0.3], [0.5]]))
    >>> sums.first_reaching(np.array([[0.0], [0.2], [0.21], [1.0]])).ravel().tolist()
    [0, 0, 1, 2]
    >>> sums.moved(np.array([[0]]), np.array([[3]]), np.array([[1]])).ravel().tolist()
    [0.7]
    """

    belief: Floats

    @cached_property
    def mass(self) -> Floats:
        """Return what is believed of all symbols before each one."""
        return _before(self.belief)

    @cached_property
    def moment(self) -> Floats:
        """Return the same, times the places of these symbols."""
        return _before(self.belief * self._place)

    @cached_property
    def impossible(self) -> Integers:
        """Return how many of them have no belief."""
        return _before(np.where(self.belief > 0.0, 0, 1))

    @cached_property
    def spread(self) -> Floats:
        """Return E|X - y| of each y."""
        mass, moment, place = self.mass, self.moment, self._place
        right = (moment[-1] - moment[1:]) - place * (mass[-1] - mass[1:])
        return np.asarray(place * mass[:-1] - moment[:-1] + right)

    def first_reaching(self, levels: Floats, *, beyond: bool = False) -> Integers:
        """Return the first symbol up to which so much is believed; `beyond`: more."""
        symbols, rows = self.belief.shape
        place = np.zeros((*levels.shape[:-1], rows), dtype=np.int64)
        if symbols <= _FEW_SYMBOLS:
            for reached in self.mass[1:]:
                place += reached <= levels if beyond else reached < levels
            return np.asarray(np.minimum(place, symbols - 1))
        for bit in range(symbols.bit_length() - 1, -1, -1):
            further = place + (1 << bit)
            reached = at(self.mass, np.minimum(further, symbols))
            below = reached <= levels if beyond else reached < levels
            place = np.where(below & (further <= symbols), further, place)
        return np.asarray(np.minimum(place, symbols - 1))

    def between(self, begin: Integers, end: Integers) -> Floats:
        """Return what is believed of the symbols from one up to, and without, another."""
        return at(self.mass, end) - at(self.mass, begin)

    def any_impossible(self, begin: Integers, end: Integers) -> Array:
        """Return whether one of them is."""
        return np.asarray(at(self.impossible, end) > at(self.impossible, begin))

    def moved(self, begin: Integers, end: Integers, to: Integers) -> Floats:
        """Return how far these symbols move to one of them, times what is believed of each."""
        left: Floats = to * self.between(begin, to) - (at(self.moment, to) - at(self.moment, begin))
        right = at(self.moment, end) - at(self.moment, to) - to * self.between(to, end)
        return left + right

    def moment_up_to(self, levels: Floats) -> Floats:
        """Return the same up to a level of mass, which may be within a symbol."""
        place = self.first_reaching(levels)
        return at(self.moment, place) + place * (levels - at(self.mass, place))

    @property
    def _place(self) -> Floats:
        return np.arange(len(self.belief), dtype=np.float64)[:, None]


def at(table: Array, places: Integers) -> Array:
    """Return the entries of each column's own places."""
    flat = places.reshape(-1, places.shape[-1])
    return np.take_along_axis(table, flat, axis=0).reshape(places.shape)


def _before(columns: Array) -> Array:
    sums = np.zeros((len(columns) + 1, columns.shape[1]), dtype=columns.dtype)
    np.cumsum(columns, axis=0, out=sums[1:])
    return sums
