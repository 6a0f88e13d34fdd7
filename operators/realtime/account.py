"""The account of (epsilon, delta) where finite precision takes its part of delta first."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import nextafter

import numpy as np

from fugu.operators.noise.additive import BudgetBelowResolution
from fugu.operators.noise.gaussian_account import squares_of
from fugu.operators.noise.gaussian_precision import delta_of_draw
from fugu.operators.realtime.schedule import RHO_OF_STEP, Schedule

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
    """Convert by the exact account of Gaussian noise (`noise.gaussian_account`)."""
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

    Every value that is measured adds to delta what its draws add (`noise.gaussian_precision`),
    which depends on how precisely it is measured, which depends on the budget. So a part of delta
    is reserved, the rest is made a budget, and the part is raised until it covers the
    values that this budget pays for. Then the delta that is declared holds in full. One draw moves
    by `largest_move` times the steps of its value at most, where fewer draws move by more.
    Arithmetic is exact, or decimal: the same on every machine. `share` and `values` are as for
    `paid_by`. Raises `ValueError` where delta does not cover finite precision, and as `paid_by`
    does.

    >>> from fugu.operators.realtime.schedule import constant
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
