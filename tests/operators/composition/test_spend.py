"""The account that says least is used and named, and agrees with the accountants of others."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from math import isqrt
from typing import Any

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from fugu.operators.budget_units import in_nats, units_of
from fugu.operators.composition.spend import IN_WORDS, Account, Spend, composed, composed_at
from fugu.operators.composition.sums import add
from fugu.operators.guarantee import (
    CONTRIBUTIONS,
    PRESENCE,
    GaussianLoss,
    Guarantee,
    Loss,
    PureLoss,
)
from fugu.operators.noise.gaussian import VARIANCE
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.wevent.spread_strategies import Uniform

HOUR = 3_600_000
PLAIN = replace(
    LaplaceRelease(lower=0, upper=10, epsilon=1.0).guarantees()[0],
    notion="dp",
    per="stream",
    neighbours=CONTRIBUTIONS,
    finite_precision_delta=0.0,
    loss=None,
)


def noisy(epsilon: float, delta: float, squares: int, **changes: Any) -> Guarantee:
    """Return the promise of a real-time release whose values may differ by so many squares."""
    return replace(PLAIN, epsilon=epsilon, delta=delta, loss=GaussianLoss(squares, 624), **changes)


def pure(epsilon: float, **changes: Any) -> Guarantee:
    return replace(PLAIN, epsilon=epsilon, **changes)


def spend_of(*guarantees: Guarantee) -> Spend:
    return add([Spend.of(guarantee) for guarantee in guarantees])


def figures(spend: Spend) -> tuple[float, float, Account]:
    figure = composed(spend)
    return in_nats(figure.epsilon), float(figure.delta), figure.account


def test_two_real_time_pipelines_come_to_less_than_their_epsilons() -> None:
    for one, number, come_to in [
        (noisy(3.0, 1e-6, 112_621_999), 2, 4.288),
        (noisy(1.0, 1e-6, 15_040_158), 10, 3.140),
    ]:
        epsilon, delta, account = figures(spend_of(*[one] * number))
        assert epsilon == pytest.approx(come_to, abs=5e-4)
        assert delta == pytest.approx(number * 1e-6)
        assert account == "noise"


def test_noise_and_pure_figures_come_to_less_than_their_sum() -> None:
    found, delta, account = figures(spend_of(noisy(3.0, 1e-6, 112_621_999), pure(1.0)))
    assert (delta, account) == (1e-6, "noise")
    assert 3.9 < found < 3.96


def test_pure_figures_are_added_where_no_delta_is_allowed() -> None:
    spend = spend_of(pure(0.1), pure(0.2))
    assert figures(spend) == (in_nats(units_of(0.1) + units_of(0.2)), 0.0, "sum")
    allowed = composed_at(spend_of(*[pure(0.1)] * 100), Fraction(1e-6))
    assert allowed is not None
    assert allowed.account == "pure"
    assert in_nats(allowed.epsilon) == pytest.approx(4.775, abs=1e-3)


def test_one_promise_is_as_stated() -> None:
    assert figures(spend_of(noisy(3.0, 1e-6, 99_358_614))) == (3.0, 1e-6, "sum")


def test_a_delta_below_that_of_stated_promises_has_no_epsilon() -> None:
    stated = spend_of(replace(PLAIN, delta=0.5), pure(1.0))
    assert composed_at(stated, Fraction(0.4)) is None
    assert composed_at(stated, Fraction(0.5)) is not None


def test_laws_that_are_known_are_composed_as_distributions() -> None:
    [laplace] = LaplaceRelease(0, 100, epsilon=0.1).guarantees()
    together = composed_at(spend_of(*[laplace] * 100), Fraction(1e-6))
    assert together is not None
    assert together.account == "distributions"
    assert in_nats(together.epsilon) == pytest.approx(4.693, abs=1e-3)


def test_every_account_has_words() -> None:
    assert all(words.startswith("by ") for words in IN_WORDS.values())


def window(ticks: int, **changes: Any) -> dict[str, Any]:
    told = {"notion": "w-event-dp", "per": "window", "window": ticks, "tick_milliseconds": HOUR}
    return {**told, "tick_by_tick": True, **changes}


def test_windows_of_noise_compose_in_time() -> None:
    """A day takes 24 windows of an hour, whose squares add up."""
    hourly = noisy(1.0, 1e-8, 1_000_000, **window(1))
    daily = noisy(1.0, 1e-8, 1_000_000, **window(24))
    together = spend_of(hourly, daily)
    alone = Spend.of(noisy(25.0, 1e-8, 25_000_000))
    same = composed_at(alone, together.delta)
    assert same is not None
    assert in_nats(composed(together).epsilon) == pytest.approx(in_nats(same.epsilon), rel=1e-4)
    assert in_nats(together.epsilon) == 25.0


def test_equal_ticks_of_a_window_compose_tick_by_tick_with_noise() -> None:
    """96 ticks of 1/96 nat come to little beside noise, where 1 nat at once comes to much more."""
    ticks = Uniform(3, 96, 1.0, 2, tick_milliseconds=HOUR).guarantees()[0]
    noise = noisy(3.0, 1e-6, 112_621_999, **window(96))
    found, _, account = figures(spend_of(ticks, noise))
    at_once, _, _ = figures(spend_of(replace(ticks, loss=None), noise))
    assert account == "noise"
    assert found == pytest.approx(3.045, abs=0.02)
    assert at_once == pytest.approx(3.956, abs=0.02)


def test_windows_that_share_draws_compose_change_by_change() -> None:
    """Squares then grow with the square of their number."""
    apart = window(1, tick_by_tick=False)
    hourly = noisy(1.0, 1e-12, 1_000_000, **apart)
    daily = noisy(1.0, 1e-8, 1_000_000, **window(24))
    [(most, _), *_] = sorted(
        ((loss.squares, number) for loss, number in spend_of(hourly, daily).loss.noise.items()),
        reverse=True,
    )
    assert most == 24**2 * 1_000_000


def test_noise_for_presence_counts_four_times_where_contributions_are_replaced() -> None:
    coming = noisy(1.0, 1e-6, 1_000_000, neighbours=PRESENCE)
    together = spend_of(coming, noisy(1.0, 1e-6, 1_000_000))
    assert {loss.squares for loss in together.loss.noise} == {1_000_000, 4_000_000}


@pytest.mark.parametrize(
    ("losses", "delta"),
    [
        ([GaussianLoss(99_358_614, 0)] * 2, 2e-6),
        ([GaussianLoss(13_076_012, 0)] * 10, 1e-5),
        ([GaussianLoss(2**26, 0), PureLoss(0.5)], 1e-4),
        ([GaussianLoss(2**27, 0), PureLoss(1.0), PureLoss(0.25)], 1e-6),
        ([PureLoss(0.5)] * 8, 1e-3),
    ],
)
def test_google_s_accountant_finds_the_same_epsilon(losses: Sequence[Loss], delta: float) -> None:
    """Pessimistic distributions of Gaussian noise and of (epsilon, 0) mechanisms, on a grid."""
    theirs = None
    for loss in losses:
        if isinstance(loss, GaussianLoss):
            one = pld.from_gaussian_mechanism((VARIANCE / loss.squares) ** 0.5)
        else:
            assert isinstance(loss, PureLoss)
            one = pld.from_privacy_parameters(
                pld.common.DifferentialPrivacyParameters(loss.epsilon)
            )
        theirs = one if theirs is None else theirs.compose(one)
    spend = spend_of(*(replace(PLAIN, epsilon=9.0, loss=loss) for loss in losses))
    ours = composed_at(spend, Fraction(delta))
    assert theirs is not None
    assert ours is not None
    assert in_nats(ours.epsilon) == pytest.approx(theirs.get_epsilon_for_delta(delta), rel=1e-4)


@pytest.mark.parametrize(
    ("squares", "number", "delta", "zcdp"),
    [(99_358_614, 2, 2e-6, 4.284), (13_076_012, 10, 1e-5, 3.140)],
)
def test_opendp_s_zcdp_is_above_the_exact_account_of_the_same_noise(
    squares: int, number: int, delta: float, zcdp: float
) -> None:
    opendp: Any = import_module("opendp.prelude")
    opendp.enable_features("contrib")
    integers = opendp.atom_domain(T=int), opendp.absolute_distance(T=int)
    noise = opendp.m.make_gaussian(*integers, scale=2.0**14)
    several = opendp.c.make_zCDP_to_approxDP(opendp.c.make_composition([noise] * number))
    theirs = several.map(isqrt(squares) + 1).epsilon(delta)
    assert theirs == pytest.approx(zcdp, abs=4e-3)
    spend = spend_of(*[noisy(3.0, delta / number, squares)] * number)
    assert theirs * 0.9 < in_nats(composed(spend).epsilon) < theirs
