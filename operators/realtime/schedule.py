"""How precisely each value of a series is measured: a number of grid steps that a budget pays for.

A release has noise with a deviation of 2^14 steps of a grid on which the sensitivity is s steps.
Where one person's contribution changes `changed` bins, by s steps each, it costs changed * s^2
units of rho of 2^-29 nat (`RHO_OF_STEP` units of 2^-40 nat), exactly. `constant` is the most
precise way to share a budget among `number` values, `in_shares` gives some of them more. `decaying`
lasts for ever: the square of the precision falls by `decay` with every value after the second one,
and so do the costs,

    1 + 1 + decay^2 + decay^3 + ... = 2 + decay^2 / (1 - decay)

times the first one together. But noise grows without end: a precision of less than one step is
none, and from then on nothing is measured any more. All numbers are integers, rounded down.

>>> constant(units=2**40, changed=1, number=10).steps(np.array([0, 9])).tolist()
[7327, 7327]
>>> slower = decaying(units=2**40, changed=1, decay=0.99)
>>> slower.steps(np.array([0, 1, 2, 500, 2000])).tolist(), slower.lasts
([2316, 2316, 2292, 187, 0], 1542)

Source: real-time release specification, section 5; noise specification, section 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Integers
from fugu.operators.noise.discrete_gaussian import PRECISION

RHO_OF_STEP = UNITS_PER_NAT >> 2 * PRECISION + 1
"""What a sensitivity of one step costs."""
_FIXED_POINT = 62


@dataclass(frozen=True, eq=False)
class Schedule:
    """Steps of the first values; after those the last of `table` for ever, which may be 0."""

    table: Integers
    changed: int

    @property
    def first(self) -> int:
        """Steps of the first value."""
        return int(self.table[0])

    @property
    def least(self) -> int:
        """Steps of the value that is measured least, of those that are to be."""
        return int(self.table[: self.lasts or None].min())

    @property
    def lasts(self) -> int | None:
        """How many values are measured before the precision is gone; None: it never is."""
        return None if self.table[-1] else len(self.table) - 1

    def steps(self, measured: Integers) -> Integers:
        """Of the next value of series of which so many were measured."""
        return self.table[np.minimum(measured, len(self.table) - 1)]

    def charges(self, steps: Integers) -> Integers:
        """What values with these steps cost, in units of rho."""
        return self.changed * RHO_OF_STEP * (steps * steps)


def constant(units: int, changed: int, number: int) -> Schedule:
    """The same for `number` values."""
    steps = isqrt(units // (RHO_OF_STEP * changed * number))
    return Schedule(np.array([steps]), changed)


def in_shares(units: int, changed: int, number: int, shares: Sequence[float]) -> Schedule:
    """`number` values take these shares in turn; nothing after them is measured."""
    rounds, rest = divmod(number, len(shares))
    exact = [Fraction(share) for share in shares]
    together = rounds * sum(exact) + sum(exact[:rest])
    turn = [isqrt(int(units * one / together) // (RHO_OF_STEP * changed)) for one in exact]
    return Schedule(np.array([*(turn * (rounds + 1))[:number], 0]), changed)


def decaying(units: int, changed: int, decay: float) -> Schedule:
    """Less for each value after the second one."""
    rate = Fraction(decay)
    together = 2 + rate * rate / (1 - rate)
    first = isqrt(int(units / (RHO_OF_STEP * changed * together)))
    factor = int(rate * 2**_FIXED_POINT)
    left, table = factor, [first] * 2
    while table[-1]:
        left = left * factor >> _FIXED_POINT
        table.append(isqrt(first * first * left >> _FIXED_POINT))
    return Schedule(np.array(table), changed)
