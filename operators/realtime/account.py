"""Account for Gaussian noise over a life: schedules, concentrated privacy, and exact deltas."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, partial
from math import isfinite, isqrt, log, nextafter, sqrt

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Integers
from fugu.operators.noise.additive import BudgetBelowResolution
from fugu.operators.noise.gaussian import squares_of
from fugu.operators.noise.gaussian_table import PRECISION, delta_of_draw
from fugu.operators.wevent.allocation import require_size

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


_DIGITS = 50
_HALVINGS = 90
_SMALLEST, _LARGEST = Decimal("1e-12"), Decimal("1e15")
"""The range of alpha, less 1."""
_ROUNDING = Decimal("1e-25")
"""Far above the error of the arithmetic, far below a unit."""


@lru_cache(maxsize=64)
def units_of_rho(epsilon: float, delta: float) -> int:
    """Return the most whole units of rho that (epsilon, delta) pays for: 2^-40 nat each.

    rho-zCDP is (epsilon, delta)-DP if, for some alpha > 1,

        delta >= exp((alpha - 1) (alpha rho - epsilon)) (1 - 1 / alpha)^alpha / (alpha - 1).

    Solved for rho, every alpha gives a rho that may be spent, and the best one is found by halving.
    Arithmetic is decimal with 50 digits, where every operation and logarithm is correctly rounded,
    so that a budget never depends on a machine. Values of rho add up over releases that are chosen
    one after the other, and so do units of it. Both are positive, and delta is below 1.

    >>> units_of_rho(epsilon=1.0, delta=1e-7) / UNITS_PER_NAT
    0.02018713244160608

    Source: real-time release specification, section 5; Canonne, Kamath and Steinke 2020,
    Proposition 12.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        nats, logarithm = Decimal(epsilon), Decimal(delta).ln()
        low, high, most = _SMALLEST, _LARGEST, Decimal(0)
        for _ in range(_HALVINGS):
            beyond = (low * high).sqrt()
            entropy = (1 + 1 / beyond).ln()
            affordable = nats + (logarithm + beyond.ln()) / beyond + (1 + beyond) / beyond * entropy
            rho = affordable / (1 + beyond)
            most = max(most, rho)
            if (2 * beyond + 1) * rho > nats + entropy:
                high = beyond
            else:
                low = beyond
        units = (most - _ROUNDING) * UNITS_PER_NAT
        return max(0, int(units.to_integral_value(rounding=ROUND_FLOOR)))


_ATTEMPTS = 50
_MARGIN = Fraction(65, 64)
"""How much more than what is needed is reserved: less rho may pay for more values."""


@dataclass(frozen=True, eq=False)
class Account:
    """State what (epsilon, delta) pay for.

    `budget` is in units of rho, `schedule` is what it pays for, `measured` says how many values
    there are of each number of steps, and `reserved` is the part of delta for their draws.
    """

    budget: int
    schedule: Schedule
    measured: Mapping[int, int]
    reserved: Fraction = Fraction(0)

    @property
    def values(self) -> int:
        """Return how many values are measured."""
        return sum(self.measured.values())

    @property
    def squares(self) -> int:
        """Return by how many squared steps neighbours differ in all values together, at most."""
        each = (number * steps * steps for steps, number in self.measured.items())
        return self.schedule.changed * sum(each)


def paid_by(budget: int, share: Callable[[int], Schedule], values: int | None = None) -> Account:
    """Return what a budget pays for that `share` turns into a schedule; nothing is reserved.

    A schedule that comes to an end says how many values it has; of one that does not there are at
    most `values`, or as many as the budget pays for. Raises `BudgetBelowResolution` where no value
    can be measured.
    """
    schedule = share(budget)
    if schedule.least < 1:
        raise BudgetBelowResolution(
            "epsilon, delta: pay for no measurement at all; give more, or share them among "
            "fewer values"
        )
    if schedule.lasts is None:
        charge = int(schedule.charges(schedule.table[:1])[0])
        number = budget // charge if values is None else values
        return Account(budget, schedule, {schedule.first: number})
    steps, numbers = np.unique(schedule.table[: schedule.lasts], return_counts=True)
    return Account(budget, schedule, dict(zip(steps.tolist(), numbers.tolist(), strict=True)))


def exact_budget(epsilon: float, delta: float) -> int:
    """Convert by the exact account of Gaussian noise (`noise.gaussian`)."""
    return squares_of(epsilon, delta) * RHO_OF_STEP


def account_of(
    epsilon: float,
    delta: float,
    *,
    share: Callable[[int], Schedule],
    values: int | None = None,
    largest_move: int = 1,
) -> Account:
    """Return the account of a budget that `share` turns into a schedule.

    Every value that is measured adds to delta what its draws add (`noise.gaussian_table`),
    which depends on how precisely it is measured, which depends on the budget. So a part of delta
    is reserved, the rest is made a budget, and the part is raised until it covers the
    values that this budget pays for. Then the delta that is declared holds in full. One draw moves
    by `largest_move` times the steps of its value at most, where fewer draws move by more.
    Arithmetic is exact, or decimal: the same on every machine. `share` and `values` are as for
    `paid_by`. Raises `ValueError` where delta does not cover finite precision, and as `paid_by`
    does.

    >>> from fugu.operators.realtime.account import constant
    >>> account = account_of(1.0, 1e-6, share=lambda units: constant(units, 1, 100))
    >>> account.values, account.schedule.first, f"{float(account.reserved):.2g}"
    (100, 387, '2.6e-13')

    Source: continual release specification, section 4 (Theorem 4); real-time release specification,
    section 5.
    """
    reserved = needed = Fraction(0)
    for _ in range(_ATTEMPTS):
        left = Fraction(delta) - reserved
        if left <= 0:
            break
        account = paid_by(exact_budget(epsilon, _below(left)), share, values)
        needed = account.schedule.changed * sum(
            (
                number * delta_of_draw(largest_move * steps, epsilon)
                for steps, number in account.measured.items()
            ),
            Fraction(0),
        )
        if needed <= reserved:
            return replace(account, reserved=reserved)
        reserved = needed * _MARGIN
    raise ValueError(
        f"delta: {delta:g} does not cover what finite precision adds to this many values, about "
        f"{float(needed):.2g}; give more, or share it among fewer values"
    )


def _below(exact: Fraction) -> float:
    nearest = float(exact)
    return nextafter(nearest, 0.0) if nearest > exact else nearest


def paper_total(epsilon: float, delta: float) -> float:
    """Return the S that (epsilon, delta) pays for by the bound of Zhang et al.

    S is the sum of squares of sensitivity over deviation: rho-zCDP has S = 2 rho.

    >>> round(paper_total(1.0, 1e-7), 7)
    0.0300945

    Source: real-time release specification, section 5.
    """
    confidence = -log(delta)
    root = sqrt(confidence + epsilon) + sqrt(confidence)
    return 2.0 * (epsilon / root) ** 2
