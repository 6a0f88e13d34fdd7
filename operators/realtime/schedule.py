"""Schedules: what share of a budget each value of a series is measured with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import isfinite, isqrt, sqrt

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Integers
from fugu.operators.noise.discrete_gaussian import PRECISION
from fugu.operators.wevent.limits import require_size

LARGEST_HORIZON = 10**7
LARGEST_DECAY = 0.999
LARGEST_SHARED = 100_000
RHO_OF_STEP = UNITS_PER_NAT >> 2 * PRECISION + 1
"""The cost of a sensitivity of one step."""
_FIXED_POINT = 62


@dataclass(frozen=True, eq=False)
class Schedule:
    """Say how precisely each value is measured: a number of grid steps that a budget pays for.

    `table` has the steps of the first values; after those its last entry holds for ever, which may
    be 0. A release has noise with a deviation of 2^14 steps of a grid on which the sensitivity is s
    steps. Where one person's contribution changes `changed` bins, by s steps each, it costs
    changed * s^2 units of rho of 2^-29 nat (`RHO_OF_STEP` units of 2^-40 nat), exactly. All numbers
    are integers, rounded down, and none falls when the budget grows.

    Source: real-time release specification, section 5; noise specification, section 2.
    """

    table: Integers
    changed: int

    @property
    def first(self) -> int:
        """Return the steps of the first value."""
        return int(self.table[0])

    @property
    def least(self) -> int:
        """Return the steps of the value that is measured least, of those that are to be."""
        return int(self.table[: self.lasts or None].min())

    @property
    def lasts(self) -> int | None:
        """Return how many values are measured until the precision is gone; None: it never is."""
        return None if self.table[-1] else len(self.table) - 1

    def steps(self, measured: Integers) -> Integers:
        """Return the steps of the next value of series of which so many were measured."""
        return self.table[np.minimum(measured, len(self.table) - 1)]

    def charges(self, steps: Integers) -> Integers:
        """Return what values with these steps cost, in units of rho."""
        return self.changed * RHO_OF_STEP * (steps * steps)


def sharing(
    changed: int,
    horizon: int | None,
    period: int | None,
    decay: float | None,
    shares: Sequence[float],
) -> Callable[[int], Schedule]:
    """Return how a budget in units of rho becomes a schedule; `ValueError` names the parameter."""
    given = [value for value in (horizon, period, decay) if value is not None]
    if len(given) != 1:
        raise ValueError("horizon, period, decay: give exactly one of them")
    if decay is not None:
        if shares:
            raise ValueError("shares: go with a horizon, not with decay")
        if not 0.0 < decay <= LARGEST_DECAY:
            raise ValueError(f"decay: must be above 0 and at most {LARGEST_DECAY}")
        return partial(decaying, changed=changed, decay=decay)
    name, number = ("horizon", horizon) if period is None else ("period", period)
    assert number is not None
    require_size(name, number, LARGEST_HORIZON)
    if not shares:
        return partial(constant, changed=changed, number=number)
    if horizon is None or number > LARGEST_SHARED or len(shares) > number:
        raise ValueError(
            f"shares: go with a horizon of at least as many and at most {LARGEST_SHARED} values"
        )
    if not all(isfinite(share) and share > 0.0 for share in shares):
        raise ValueError("shares: must be positive numbers")
    return partial(in_shares, changed=changed, number=number, shares=shares)


def constant(units: int, changed: int, number: int) -> Schedule:
    """Measure `number` values alike, which is the most precise way to share a budget.

    >>> constant(units=2**40, changed=1, number=10).steps(np.array([0, 9])).tolist()
    [7327, 7327]
    """
    steps = isqrt(units // (RHO_OF_STEP * changed * number))
    return Schedule(np.array([steps]), changed)


def in_shares(units: int, changed: int, number: int, shares: Sequence[float]) -> Schedule:
    """Give `number` values these shares in turn; nothing after them is measured."""
    rounds, rest = divmod(number, len(shares))
    exact = [Fraction(share) for share in shares]
    together = rounds * sum(exact) + sum(exact[:rest])
    turn = [isqrt(int(units * one / together) // (RHO_OF_STEP * changed)) for one in exact]
    return Schedule(np.array([*(turn * (rounds + 1))[:number], 0]), changed)


def falling(number: int) -> tuple[float, ...]:
    """Return shares with which totals since the first of `number` values err least.

    The i-th value is in number - i + 1 totals. Among all ways to share a budget, a variance of the
    noise that falls with the root of that makes their mean squared error least: 8 / 9 of that of
    even shares for many values. For values by themselves nothing is gained.

    >>> [round(share, 3) for share in falling(4)]
    [2.0, 1.732, 1.414, 1.0]

    Source: continual release specification, section 5.
    """
    return tuple(sqrt(left) for left in range(number, 0, -1))


def decaying(units: int, changed: int, decay: float) -> Schedule:
    """Measure every value after the second one less precisely than the one before, for ever.

    The square of the precision falls by `decay` with every value, and so do the costs,

        1 + 1 + decay^2 + decay^3 + ... = 2 + decay^2 / (1 - decay)

    times the first one together. But noise grows without end: a precision of less than one step is
    none, and from then on nothing is measured any more.

    >>> slower = decaying(units=2**40, changed=1, decay=0.99)
    >>> slower.steps(np.array([0, 1, 2, 500, 2000])).tolist(), slower.lasts
    ([2316, 2316, 2292, 187, 0], 1542)
    """
    rate = Fraction(decay)
    together = 2 + rate * rate / (1 - rate)
    first = isqrt(int(units / (RHO_OF_STEP * changed * together)))
    factor = int(rate * 2**_FIXED_POINT)
    left, table = factor, [first] * 2
    while table[-1]:
        left = left * factor >> _FIXED_POINT
        table.append(isqrt(first * first * left >> _FIXED_POINT))
    return Schedule(np.array(table), changed)
