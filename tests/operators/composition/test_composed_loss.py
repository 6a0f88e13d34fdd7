"""The closed form for Gaussian noise with pure losses: printed, enumerated, and never below."""

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import comb, exp, isqrt, log, prod, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from fugu.operators.budget_units import in_nats, units_of
from fugu.operators.composition.composed_loss import (
    ComposedLoss,
    delta_curve,
    distribution,
    epsilon_by_distributions,
    gains,
    gaussian_delta,
    signed_sums,
)
from fugu.operators.guarantee import (
    GaussianLoss,
    LaplaceLoss,
    Loss,
    PureLoss,
    RepeatedLoss,
    ResponseLoss,
    StatedLoss,
)
from fugu.operators.noise.gaussian import VARIANCE
from fugu.operators.noise.gaussian_table import PRECISION, delta_of_draw
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from tests.operators.composition.laws import (
    LossLaw,
    composed_law,
    delta_of_law,
    responses,
    shifted_laplace,
    shifted_noise,
)

DEVIATION = 1 << PRECISION


def together(*losses: Loss) -> ComposedLoss:
    """Return the losses of independent releases."""
    whole = ComposedLoss(frozenset(), Fraction(0))
    for loss in losses:
        whole += ComposedLoss.of(loss)
    return whole


def noise(ratio: float, draws: int = 0) -> GaussianLoss:
    """Return the loss of Gaussian noise with a ratio of sensitivity to deviation, rounded up."""
    return GaussianLoss(int(ratio**2 * VARIANCE) + 1, draws)


def pure(epsilons: Iterable[float]) -> list[Loss]:
    return [PureLoss(epsilon) for epsilon in epsilons]


@pytest.mark.parametrize(
    ("ratio", "epsilons", "epsilon", "printed"),
    [
        (0.5, [0.5], 1.0, 3.279061e-2),
        (1.0, [0.5], 2.0, 3.767150e-2),
        (1.0, [0.2] * 5, 3.0, 3.914042e-3),
        (0.6, [0.1], 3.0, 1.938549e-7),
    ],
)
def test_section_4_has_these_deltas(
    ratio: float, epsilons: list[float], epsilon: float, printed: float
) -> None:
    found = float(together(noise(ratio), *pure(epsilons)).delta(units_of(epsilon)))
    assert found == pytest.approx(printed, rel=5e-7)


def test_real_time_pipelines_come_to_the_figures_of_the_issue() -> None:
    """Compose the exact account's own noise, and the stronger noise that zCDP asks for."""
    exact, zcdp = (GaussianLoss(squares, 624) for squares in (112_621_999, 99_358_614))
    assert nats_of([exact] * 2, 2e-6) == pytest.approx(4.288, abs=5e-4)
    assert nats_of([zcdp] * 2, 2e-6) == pytest.approx(3.994, abs=5e-4)
    exact, zcdp = (GaussianLoss(squares, 624) for squares in (15_040_158, 13_076_012))
    assert nats_of([exact] * 10, 1e-5) == pytest.approx(3.140, abs=5e-4)
    assert nats_of([zcdp] * 10, 1e-5) == pytest.approx(2.900, abs=5e-4)


def nats_of(losses: list[GaussianLoss], delta: float) -> float:
    epsilon = together(*losses).epsilon(Fraction(delta))
    assert epsilon is not None
    return in_nats(epsilon)


def test_one_loss_alone_is_its_own_curve() -> None:
    assert together(PureLoss(0.5)).delta(units_of(0.5)) == 0
    assert together(PureLoss(0.5)).epsilon(Fraction(0)) == units_of(0.5)
    for ratio, epsilon in product((0.05, 0.3, 2.0, 20.0), (0.0, 0.1, 1.0, 5.0)):
        exact = gaussian(epsilon, ratio)
        found = float(together(noise(ratio)).delta(units_of(epsilon)))
        assert found >= exact
        assert found == pytest.approx(exact, rel=1e-5, abs=1e-12)


def gaussian(epsilon: float, ratio: float) -> float:
    near, far = ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio
    return float(norm.cdf(near) - exp(epsilon) * norm.cdf(far))


@given(
    ratio=st.floats(1e-6, 40.0),
    epsilon=st.floats(-800.0, 800.0),
)
@settings(max_examples=150)
def test_the_curve_of_noise_is_rounded_up_and_hardly_more(ratio: float, epsilon: float) -> None:
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        eps, mu = mpmath.mpf(epsilon), mpmath.mpf(ratio)
        exact = mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)
        found = mpmath.mpf(gaussian_delta(epsilon, ratio))
        slack = mpmath.mpf("1e-9") * exact + mpmath.mpf("1e-290")
        beyond = mpmath.ncdf(mu / 2 - eps / mu) * (1 + (eps / mu + mu / 2) ** 2)
        assert exact <= found * mpmath.mpf("1.000000001") + mpmath.mpf("1e-300")
        if abs(epsilon) <= 60.0:
            assert found <= exact + slack + beyond * mpmath.mpf("1e-12") or found == 1


@pytest.mark.parametrize("number", [1, 2, 7, 40])
def test_equal_pure_losses_compose_optimally(number: int) -> None:
    """Kairouz, Oh and Viswanath 2015: a sum over how many of the losses have a minus."""
    each = 0.3
    whole = together(*pure([each] * number))
    for epsilon in (0.0, 0.5, 0.29 * number):
        grown = [exp(each * k) for k in range(number + 1)]
        exact = (
            sum(
                comb(number, k) * max(0.0, grown[number - k] - exp(epsilon) * grown[k])
                for k in range(number + 1)
            )
            / (1.0 + exp(each)) ** number
        )
        found = float(whole.delta(units_of(epsilon)))
        assert exact <= found * (1.0 + 1e-12) + 1e-14
        assert found == pytest.approx(exact, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize(
    ("epsilons", "deviation", "shifts"),
    [
        ([0.7], 4, [2]),
        ([0.5, 1.1], 3, [1, 2]),
        ([0.2] * 3, 2, [2]),
        ([2.0], 6, [5, 3]),
    ],
)
def test_randomized_responses_with_discrete_noise_lose_no_more(
    epsilons: list[float], deviation: int, shifts: list[int]
) -> None:
    """All outcomes are enumerated. Noise is on a small grid, so the bound is that of Theorem 3
    there: with any r, the ratio sum of squares / (deviation^2 - r^2), and its other terms."""
    law = composed_law([*map(responses, epsilons), *(shifted_noise(deviation, s) for s in shifts)])
    for epsilon in np.linspace(0.0, sum(epsilons) + 3.0, 12).tolist():
        exact = delta_of_law(law, epsilon)
        bounds = [
            bound_of_small_noise(epsilons, deviation, shifts, epsilon, r)
            for r in (0.6, 0.8, 1.0, 1.3)
        ]
        assert exact <= min(bounds)
        if exact > 1e-3:
            assert min(bounds) < 2.0 * exact


@given(
    epsilons=st.lists(st.floats(0.05, 2.0), max_size=3),
    shift=st.integers(300, 40_000),
    delta=st.floats(1e-9, 0.05),
)
@settings(max_examples=25)
def test_no_composed_epsilon_is_below_that_of_the_noise_that_is_drawn(
    epsilons: list[float], shift: int, delta: float
) -> None:
    """Discrete Gaussian noise of 2^14 steps and randomized responses, outcome by outcome."""
    whole = together(GaussianLoss(shift**2, draws=0), *pure(epsilons))
    epsilon = whole.epsilon(Fraction(delta))
    assert epsilon is not None
    assert drawn_delta(epsilons, shift, in_nats(epsilon)) <= delta
    assert epsilon == 0 or drawn_delta(epsilons, shift, in_nats(epsilon) - 1e-5) > delta * 0.999


def drawn_delta(epsilons: list[float], shift: int, epsilon: float) -> float:
    """The delta of one draw that neighbours move by `shift`, beside randomized responses."""
    points = np.arange(-10 * DEVIATION, 10 * DEVIATION + shift + 1, dtype=np.float64)
    one, other = (np.exp(-((points - at) ** 2) / (2.0 * DEVIATION**2)) for at in (0, shift))
    one, other = one / one.sum(), other / other.sum()
    return sum(
        likely * float(np.maximum(0.0, one - exp(epsilon - loss) * other).sum())
        for loss, likely in composed_law(list(map(responses, epsilons))).items()
    )


def bound_of_small_noise(
    epsilons: list[float], deviation: int, shifts: list[int], epsilon: float, r: float
) -> float:
    def eta(of: float) -> float:
        return 2.0 * sum(exp(-2.0 * np.pi**2 * of**2 * j * j) for j in range(1, 9))

    grows = 1.0 + eta(r)
    left = epsilon - len(shifts) * np.log(grows * (1.0 + eta(deviation)) / (1.0 - eta(r)))
    ratio = sqrt(sum(shift**2 for shift in shifts) / (deviation**2 - r**2))
    signed = signed_sums_of(epsilons)
    curve = sum(p * gaussian_delta(left - s, ratio) for s, p in signed.items())
    return float(grows ** len(shifts) * curve)


def signed_sums_of(epsilons: list[float]) -> dict[float, float]:
    whole = together(*pure(epsilons))
    return {in_nats(total): likely for total, likely in signed_sums(whole.pure).items()}


@given(
    epsilons=st.lists(st.floats(0.01, 2.0), min_size=1, max_size=5),
    ratio=st.floats(0.05, 3.0),
    delta=st.floats(1e-9, 0.1),
)
@settings(max_examples=25)
def test_an_epsilon_keeps_its_delta_whatever_is_composed(
    epsilons: list[float], ratio: float, delta: float
) -> None:
    """Against a sum over all signs, by other code: what is claimed at epsilon really holds."""
    epsilon = together(noise(ratio), *pure(epsilons)).epsilon(Fraction(delta))
    assert epsilon is not None
    assert over_signs(epsilons, ratio, in_nats(epsilon)) <= delta
    assert epsilon == 0 or over_signs(epsilons, ratio, in_nats(epsilon) - 1e-6) > delta * 0.999


def over_signs(epsilons: list[float], ratio: float, epsilon: float) -> float:
    return sum(
        prod(1.0 / (1.0 + exp(-sign * e)) for sign, e in zip(signs, epsilons, strict=True))
        * gaussian(epsilon - sum(map(float.__mul__, map(float, signs), epsilons)), ratio)
        for signs in product((1, -1), repeat=len(epsilons))
    )


def test_many_unequal_losses_are_rounded_up_and_by_little() -> None:
    rng = np.random.default_rng(3)
    epsilons = rng.uniform(0.05, 0.15, 40).tolist()
    assert len(signed_sums(together(*pure(epsilons)).pure)) <= 4096
    found = together(noise(0.3), *pure(epsilons)).epsilon(Fraction(1e-6))
    less, more = (
        together(noise(0.3), *pure((np.floor(np.array(epsilons) * 512) + up) / 512))
        for up in (0, 1)
    )
    least, most = (loss.epsilon(Fraction(1e-6)) for loss in (less, more))
    assert None not in (least, found, most)
    assert (least or 0) < (found or 0) < (most or 0) < 1.04 * (least or 0)


def test_thousands_of_equal_losses_never_come_to_more_than_their_sum() -> None:
    whole = ComposedLoss.of(PureLoss(0.001)).repeated(30_000)
    assert in_nats(whole.epsilon(Fraction(1e-6)) or 0) < 30.0
    fewer = ComposedLoss.of(PureLoss(0.001)).repeated(1000)
    assert in_nats(fewer.epsilon(Fraction(1e-6)) or 0) < in_nats(whole.epsilon(Fraction(1e-6)) or 0)


@pytest.mark.parametrize("pipelines", [4, 5])
def test_thousands_of_unequal_losses_have_a_law_that_is_no_better(pipelines: int) -> None:
    """As many unequal losses as one law has sums meet in a few pipelines with long windows."""
    each = [0.001 * (at + 1) for at in range(pipelines)]
    law = signed_sums(Counter({units_of(one): 1024 for one in each}))
    assert sum(law.values()) == pytest.approx(1.0, abs=1e-9)
    assert max(law) >= 1024 * sum(map(units_of, each))
    gained = 1024 * sum(one * (2.0 / (1.0 + exp(-one)) - 1.0) for one in each)
    assert sum(in_nats(signed) * likely for signed, likely in law.items()) >= gained


def test_stated_deltas_are_added() -> None:
    stated = together(StatedLoss(0.5, 1e-3), PureLoss(0.5))
    assert stated.delta(units_of(1.0)) == Fraction(1e-3)
    assert stated.epsilon(Fraction(1e-4)) is None


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 14.0, 20.0])
def test_finite_precision_of_draws_is_bounded_however_squares_are_shared_among_them(
    epsilon: float,
) -> None:
    squares, draws = 3_000_000_000, 400
    law, drawn = (together(GaussianLoss(squares, number)) for number in (0, draws))
    added = drawn.delta(units_of(epsilon)) - law.delta(units_of(epsilon))
    for steps in (1, 600, 2700, 6000, 20_000, 30_000, isqrt(squares)):
        large = min(draws, squares // steps**2)
        left = isqrt((squares - large * steps**2) // max(1, draws - large))
        shared = large * delta_of_draw(steps, epsilon) + (draws - large) * delta_of_draw(
            left, epsilon
        )
        assert shared <= added
    assert added <= draws * delta_of_draw(isqrt(squares), epsilon)
    assert added < 1e-6


def test_a_repeated_loss_is_so_many_pure_ones() -> None:
    assert together(RepeatedLoss(0.1, 7)) == ComposedLoss.of(PureLoss(0.1)).repeated(7)
    assert together(RepeatedLoss(0.1, 7)).epsilon(Fraction(0)) == 7 * units_of(0.1)


def test_changes_in_turn_multiply_losses_and_square_ratios() -> None:
    whole = ComposedLoss.of(GaussianLoss(100, 7), Fraction(1, 8)) + ComposedLoss.of(PureLoss(0.5))
    apart = whole.over(3, Fraction(1, 2))
    assert dict(apart.losses).keys() >= {GaussianLoss(900, 21)}
    assert apart.beside == Fraction(1, 2)
    [epsilon] = [loss.epsilon for loss, _ in apart.losses if isinstance(loss, PureLoss)]
    assert Decimal("1.5") <= Decimal(epsilon) <= Decimal("1.5000000000000003")


def test_the_order_of_composition_does_not_matter() -> None:
    parts = [ComposedLoss.of(loss) for loss in (PureLoss(0.1), PureLoss(0.1), noise(0.2, 3))]
    assert parts[0] + (parts[1] + parts[2]) == (parts[2] + parts[0]) + parts[1]
    assert parts[0] + parts[1] == parts[0].repeated(2)


# Privacy loss distributions on a grid dominate exact ones, and are hardly above them.


FINITE: dict[LaplaceLoss | ResponseLoss | PureLoss, LossLaw] = {
    LaplaceLoss(0.25, 4): shifted_laplace(0.25, 4),
    LaplaceLoss(0.7, 1): shifted_laplace(0.7, 1),
    LaplaceLoss(0.05, 30): shifted_laplace(0.05, 30),
    ResponseLoss(0.7, 5): responses(0.7, 5),
    ResponseLoss(2.0, 3): responses(2.0, 3),
    PureLoss(0.4): responses(0.4),
}
"""Losses that have exact laws, by enumeration of outcomes."""


@pytest.mark.parametrize("loss", FINITE, ids=str)
def test_a_curve_is_that_of_all_outcomes(loss: LaplaceLoss | ResponseLoss | PureLoss) -> None:
    epsilons = np.linspace(-1.5, 1.5, 31) * loss.epsilon
    exact = [delta_of_law(FINITE[loss], epsilon) for epsilon in epsilons.tolist()]
    assert delta_curve(loss, epsilons) == pytest.approx(exact, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("number", [2, 5])
@pytest.mark.parametrize("loss", FINITE, ids=str)
def test_a_composed_distribution_is_within_one_percent_of_exact_convolution(
    loss: LaplaceLoss | ResponseLoss | PureLoss, number: int
) -> None:
    whole = ComposedLoss.of(loss).repeated(number)
    law = composed_law([FINITE[loss]] * number)
    within_a_percent(whole, law, number * loss.epsilon)


def test_different_laws_compose_within_one_percent_of_exact_convolution() -> None:
    losses = list(FINITE)[:4]
    whole = ComposedLoss.of(losses[0])
    for loss in losses[1:]:
        whole += ComposedLoss.of(loss)
    law = composed_law([FINITE[loss] for loss in losses])
    within_a_percent(whole, law, sum(loss.epsilon for loss in losses))


def within_a_percent(whole: ComposedLoss, law: LossLaw, largest: float) -> None:
    found = distribution(whole)
    for epsilon in np.linspace(0.0, 0.97, 9) * largest:
        exact = delta_of_law(law, epsilon)
        assert exact * (1.0 - 1e-9) - 1e-13 <= found.get_delta_for_epsilon(epsilon) <= 1.01 * exact


def test_laws_that_are_known_lose_less_than_randomized_responses_of_a_bit() -> None:
    many = ComposedLoss.of(LaplaceLoss(2.0**-24, 2**24 // 10)).repeated(100)
    delta = Fraction(1e-6)
    pure = many.epsilon(delta)
    assert pure is not None
    finer = epsilon_by_distributions(many, delta, below=pure)
    assert finer is not None
    assert in_nats(finer) == pytest.approx(4.6927, abs=1e-3)
    assert in_nats(pure) == pytest.approx(4.7746, abs=1e-3)


def test_gaussian_noise_composes_with_laws_that_are_known() -> None:
    noise = ComposedLoss.of(GaussianLoss(2**26, 10))
    both = noise + ComposedLoss.of(LaplaceLoss(2.0**-20, 2**19))
    closed = both.delta(units_of(1.0))
    assert float(closed) == pytest.approx(3.279061e-2, rel=1e-6)
    found = distribution(both).get_delta_for_epsilon(1.0)
    assert found == pytest.approx(2.929e-2, rel=3e-4)


def test_what_finite_precision_takes_of_delta_is_not_given_to_laws() -> None:
    beside = ComposedLoss.of(LaplaceLoss(0.1, 5), Fraction(1, 1000)).repeated(2)
    largest = units_of(1.0)
    assert epsilon_by_distributions(beside, Fraction(2, 1000), below=largest) is None
    assert epsilon_by_distributions(beside, Fraction(4, 1000), below=largest) is not None


def test_only_known_laws_ask_for_distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    known, pure = ComposedLoss.of(ResponseLoss(1.0, 4)), ComposedLoss.of(PureLoss(1.0))
    assert (gains(known), gains(pure), gains(known + pure)) == (True, False, True)
    where = "fugu.operators.composition.composed_loss.find_spec"
    monkeypatch.setattr(where, lambda name: None)
    assert not gains(known)


def test_the_losses_that_mechanisms_state_are_those_of_their_laws() -> None:
    response = GeneralizedRandomizedResponse(symbols=5, epsilon=0.7)
    assert response.guarantees()[0].known_loss == ResponseLoss(
        response.guarantees()[0].epsilon, symbols=5
    )
    law = response.release_law(response.start(1))[0]
    assert log(law[0, 0] / law[0, 1]) <= response.guarantees()[0].epsilon
    laplace = LaplaceRelease(lower=0, upper=100, epsilon=0.5).guarantees()[0].known_loss
    assert laplace == LaplaceLoss(2.0**-24, 2**23)
    assert exp(laplace.epsilon) <= exp(0.5)
