"""The account of (epsilon, delta) where finite precision takes its part of delta first."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import nextafter

import numpy as np

from fugu.operators.noise.additive import BudgetBelowResolution
from fugu.operators.noise.gaussian_precision import delta_of_draw
from fugu.operators.realtime.schedule import Schedule
from fugu.operators.realtime.zcdp import units_of_rho

_ATTEMPTS = 50
_MARGIN = Fraction(65, 64)
"""A little less rho pays for a few more values, where rounding leaves something over."""


@dataclass(frozen=True, eq=False)
class Account:
    """State what (epsilon, delta) pay for.

    `budget` is in units of rho, `schedule` is what it pays for, `values` is their number, and
    `reserved` is the part of delta for their draws.
    """

    budget: int
    schedule: Schedule
    values: int
    reserved: Fraction


def account_of(
    epsilon: float,
    delta: float,
    *,
    changed: int,
    share: Callable[[int], Schedule],
    values: int | None = None,
) -> Account:
    """Return the account of a budget that `share` turns into a schedule.

    Every value that is measured adds to delta what its draws add (`noise.gaussian_precision`),
    which depends on how precisely it is measured, which depends on the budget. So a part of delta
    is reserved, the rest becomes rho, and the part is raised until it covers the values that this
    rho pays for. Then the delta that is declared holds in full. Arithmetic is exact, or decimal:
    the same on every machine.

    A schedule that comes to an end says how many values it has; of one that does not there are at
    most `values`, or as many as the budget pays for. Raises `ValueError` where delta does not cover
    finite precision, and `BudgetBelowResolution` where no value can be measured.

    >>> from fugu.operators.realtime.schedule import constant
    >>> account = account_of(1.0, 1e-6, changed=1, share=lambda units: constant(units, 1, 100))
    >>> account.values, account.schedule.first, f"{float(account.reserved):.2g}"
    (100, 361, '2.6e-13')

    Source: continual release specification, section 4 (Theorem 4); real-time release specification,
    section 5.
    """
    reserved = needed = Fraction(0)
    for _ in range(_ATTEMPTS):
        left = Fraction(delta) - reserved
        if left <= 0:
            break
        budget = units_of_rho(epsilon, _below(left))
        schedule = share(budget)
        if schedule.least < 1:
            raise BudgetBelowResolution(
                "epsilon, delta: pay for no measurement at all; give more, or share them among "
                "fewer values"
            )
        measured = _measured(schedule, budget, values)
        needed = changed * sum(
            (number * delta_of_draw(steps, epsilon) for steps, number in measured.items()),
            Fraction(0),
        )
        if needed <= reserved:
            return Account(budget, schedule, sum(measured.values()), reserved)
        reserved = needed * _MARGIN
    raise ValueError(
        f"delta: {delta:g} does not cover what finite precision adds to this many values, about "
        f"{float(needed):.2g}; give more, or share it among fewer values"
    )


def _measured(schedule: Schedule, budget: int, values: int | None) -> dict[int, int]:
    """Return how many values there are of each number of steps, at most."""
    if schedule.lasts is None:
        charge = int(schedule.charges(schedule.table[:1])[0])
        return {schedule.first: budget // charge if values is None else values}
    steps, numbers = np.unique(schedule.table[: schedule.lasts], return_counts=True)
    return dict(zip(steps.tolist(), numbers.tolist(), strict=True))


def _below(exact: Fraction) -> float:
    nearest = float(exact)
    return nextafter(nearest, 0.0) if nearest > exact else nearest
