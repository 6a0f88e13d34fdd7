"""The delta that is declared holds with what finite precision adds to it, or it is refused."""

from fractions import Fraction
from functools import partial
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest

from fugu.operators.noise.additive import BudgetBelowResolution
from fugu.operators.noise.gaussian_precision import delta_of_draw
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.realtime.account import account_of, exact_budget
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.realtime.schedule import constant, decaying, in_shares

SHARED: list[dict[str, Any]] = [
    {"horizon": 1},
    {"horizon": 100},
    {"horizon": 10**6},
    {"period": 1000},
    {"decay": 0.99},
    {"horizon": 1000, "shares": (1.0, 4.0, 9.0)},
]


@pytest.mark.parametrize("shared", SHARED, ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (3.0, 1e-6), (20.0, 1e-6)])
def test_what_is_promised_includes_finite_precision(
    shared: dict[str, Any], epsilon: float, delta: float
) -> None:
    """The sum of Theorem 4 over all values that the schedule can measure, counted by walking it."""
    release = RealTimeRelease(2, 1, 2, epsilon, delta, **shared)
    measured, spent, added = 0, 0, Fraction(0)
    most = shared.get("period", shared.get("horizon", 10**7))
    while measured < most:
        steps = release.schedule.steps(np.array([measured]))
        charge = int(release.schedule.charges(steps)[0])
        if not charge or spent + charge > release.budget:
            break
        more = 1
        if release.schedule.lasts is None:
            more = min(release.budget // charge, most) - measured
        added += 2 * more * delta_of_draw(int(steps[0]), epsilon)
        measured, spent = measured + more, spent + more * charge
    assert measured == release.account.values
    assert added <= release.account.reserved
    ideal = Fraction(delta) - added
    assert release.budget <= exact_budget(epsilon, float(ideal) * (1.0 + 1e-15))
    [promise] = release.guarantees()
    assert (promise.delta, promise.total_delta) == (delta, delta)


@pytest.mark.parametrize(("horizon", "stated"), [(100, 2.27e-4), (10**6, 1.0)])
def test_a_horizon_whose_bound_over_all_shifts_is_far_above_delta_fits_into_it(
    horizon: int, stated: float
) -> None:
    """The bound that was stated per release, e = 4.68e-15, over all values; and what is reserved
    for those shifts that one person can cause."""
    assert min(1.0, (1.0 + exp(20.0)) * 4.68e-15 * horizon) == pytest.approx(stated, rel=0.01)
    audit = LocalRealTimeRelease(0, 1, 20.0, 1e-6, horizon=horizon).audit()
    reserved = audit["delta of finite precision, part of delta"]
    assert isinstance(reserved, float)
    assert 0.0 < reserved < 1e-8


@pytest.mark.parametrize(
    ("delta", "horizon"), [(2e-15, 1), (1e-13, 100), (2e-9, 10**6), (1e-8, 10**7)]
)
def test_a_delta_below_what_finite_precision_adds_is_refused(delta: float, horizon: int) -> None:
    with pytest.raises(ValueError, match=r"^delta: .* does not cover what finite precision adds"):
        RealTimeRelease(1, 1, 1, 5.0, delta, horizon=horizon)
    enough = RealTimeRelease(1, 1, 1, 5.0, 50 * delta, horizon=horizon)
    assert enough.account.reserved < Fraction(50 * delta)


def test_bike_share_needs_hardly_anything() -> None:
    """Section 4: 40 draws at a tenth of a deviation add 1.1e-13."""
    assert float(40 * delta_of_draw(1638, 3.0)) == pytest.approx(1.1e-13, rel=0.05)


@pytest.mark.parametrize("changed", [1, 2])
def test_an_account_is_the_best_one_within_a_sixtieth_of_what_it_reserves(changed: int) -> None:
    shares = [
        partial(constant, changed=changed, number=50),
        partial(decaying, changed=changed, decay=0.9),
        partial(in_shares, changed=changed, number=50, shares=(1.0, 2.0)),
    ]
    for share, epsilon in product(shares, (0.1, 5.0)):
        account = account_of(epsilon, 1e-6, share=share)
        rest = float(Fraction(1e-6) - account.reserved)
        assert account.budget == exact_budget(epsilon, rest)
        assert account.reserved < Fraction(1, 10**9)


def test_a_schedule_without_a_value_is_refused_as_such() -> None:
    with pytest.raises(BudgetBelowResolution, match="pay for no measurement"):
        account_of(0.01, 1e-6, share=partial(constant, changed=1, number=10**9))


def test_delta_covers_draws_that_signed_amounts_move_by_twice_their_steps() -> None:
    """Neighbours take a figure from the largest amount to its opposite in one draw."""
    cap = PersonalCap(at_most=1, ticks=100, signed=True)
    release = RealTimeRelease(1, 1, 1, epsilon=20.0, delta=1e-6, personal_cap=cap)
    assert release.account.reserved >= delta_of_draw(2 * release.schedule.first, 20.0)
