"""Privacy loss distributions on a grid dominate exact ones, and are hardly above them."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from fugu.operators.budget_units import in_nats, units_of
from fugu.operators.composition.composed_loss import ComposedLoss
from fugu.operators.composition.loss_distributions import (
    delta_curve,
    distribution,
    epsilon_by_distributions,
    gains,
)
from fugu.operators.loss import GaussianLoss, LaplaceLoss, PureLoss, ResponseLoss
from fugu.operators.noise.laplace_release import LaplaceRelease
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from tests.operators.composition.laws import (
    LossLaw,
    composed_law,
    delta_of_law,
    responses,
    shifted_laplace,
)

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
    where = "fugu.operators.composition.loss_distributions.find_spec"
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
