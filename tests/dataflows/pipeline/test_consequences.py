"""Guess against a promise: no rule is right more often, and the best one comes near."""

from itertools import product
from math import exp, log, sqrt
from statistics import NormalDist

import numpy as np
import pytest

from fugu.dataflows.pipeline.consequences import SEVERAL, consequence_of, per_cent, right
from fugu.operators.guarantee import Guarantee
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.totals.buffers import participation
from fugu.operators.totals.running_total import RunningTotal
from tests.conformance.kinds import KINDS

GUARANTEES = [
    pytest.param(guarantee, id=f"{kind}-{number}-{guarantee.notion}")
    for kind, found in KINDS.items()
    for number, example in enumerate(found.examples())
    for guarantee in example.mechanism.guarantees()
]


def best_share(first: np.ndarray, second: np.ndarray) -> float:
    """The share that the best rule gets right, of two laws that are equally likely."""
    return float(np.maximum(first, second).sum() / 2.0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("releases", [1, 2, 3])
def test_no_rule_is_right_more_often_than_is_said(epsilon: float, releases: int) -> None:
    """All outcomes of randomized response over a bit, which no rule separates better."""
    kept = exp(epsilon) / (exp(epsilon) + 1.0)
    first = np.array([np.prod(one) for one in product((kept, 1.0 - kept), repeat=releases)])
    found = best_share(first, first[::-1])
    assert found <= right(releases * epsilon, 0.0) + 1e-12
    if releases == 1:
        assert found == pytest.approx(right(epsilon, 0.0))


def test_delta_is_won_where_it_is_all_given_away() -> None:
    """The hardest law of (epsilon, delta): with probability delta it names the truth."""
    epsilon, delta = 1.0, 0.2
    kept = (1.0 - delta) * exp(epsilon) / (exp(epsilon) + 1.0)
    first = np.array([delta, 0.0, kept, 1.0 - delta - kept])
    second = first[[1, 0, 3, 2]]
    assert best_share(first, second) == pytest.approx(right(epsilon, delta))


def test_several_windows_of_mixed_figures_tell_more_than_each_by_itself() -> None:
    """Whoever counts in ten ticks in a row is in the same noise ten times."""
    totals = RunningTotal(1, 1, 1, epsilon=1.0, delta=1e-6, horizon=1000, window=1)
    moved = sqrt(participation(totals.buffers, 1000, SEVERAL)) * totals.precision.steps_of_unit
    best = NormalDist().cdf(moved / 2**14 / 2.0)
    [guarantee] = totals.guarantees()
    [_, several] = consequence_of(guarantee).guesses
    assert 0.83 < best <= several.after < 0.89


def test_several_periods_with_noise_of_their_own_add_squares() -> None:
    cap = PersonalCap(at_most=5, ticks=100)
    totals = RunningTotal(
        1, 1, 1, epsilon=1.0, delta=1e-6, personal_cap=cap, tick_milliseconds=1000
    )
    [guarantee] = totals.guarantees()
    [one, several] = consequence_of(guarantee).guesses
    ratio = NormalDist().inv_cdf(several.after) / NormalDist().inv_cdf(one.after)
    assert ratio == pytest.approx(sqrt(SEVERAL), rel=1e-3)


def test_a_model_believes_no_more_than_is_said() -> None:
    response = GeneralizedRandomizedResponse(2, log(3.0))
    [guarantee] = response.guarantees()
    [one, several] = consequence_of(guarantee).guesses
    assert one.after == pytest.approx(0.75)
    assert several.after > one.after
    assert f"{SEVERAL} releases" in several.in_words


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_every_promise_has_a_consequence_in_words(guarantee: Guarantee) -> None:
    consequence = consequence_of(guarantee)
    assert consequence.words.endswith(".")
    for guess in consequence.guesses:
        assert 0.0 < guess.before <= guess.after <= 1.0
    if not guarantee.sound:
        assert not consequence.guesses


def test_shares_are_rounded_up() -> None:
    assert (per_cent(0.73105), per_cent(0.88), per_cent(0.9999)) == ("73.2 %", "88 %", "100 %")
