"""Guarantees in words."""

from dataclasses import replace

import pytest

from fugu.dataflows.pipeline.guarantee_text import in_words, parts_in_words
from fugu.operators.loss import (
    GaussianLoss,
    LaplaceLoss,
    Loss,
    PureLoss,
    ResponseLoss,
    StatedLoss,
)
from fugu.operators.noise.gaussian_account import VARIANCE
from fugu.operators.sip.paper_conditional_randomized_response import (
    PaperConditionalRandomizedResponse,
)
from fugu.operators.swellfish.household import HOUSEHOLD
from fugu.operators.swellfish.limits import Limits
from fugu.operators.swellfish.unicorn_ps import UnicornPS
from fugu.operators.temporal.threshold import ThresholdPerturbation
from tests.dataflows.stages.columns import CRR

SIP, LDP = CRR.guarantees()


def test_a_guarantee_says_what_is_promised_about_what_and_relative_to_what() -> None:
    words = in_words(SIP)
    assert words.startswith("Sequence Information Privacy with epsilon 1 nats")
    assert " per release, " in words
    assert "protecting the sequence of true symbols of one stream, " in words
    assert f"against {SIP.adversary}. " in words
    assert "n releases of one stream have at most n times epsilon." in words
    assert "n times epsilon and delta." in in_words(replace(LDP, delta=1e-9))


def test_the_guarantee_without_a_model_is_weaker_and_says_so() -> None:
    assert in_words(LDP).startswith("Local Differential Privacy with epsilon 2 nats")
    assert "no model" in in_words(LDP)


def test_a_bound_on_delays_says_what_it_bounds_and_what_not() -> None:
    [promise] = ThresholdPerturbation(k=10, c0=7).guarantees()
    assert in_words(promise) == (
        "Delay law with epsilon 4.59462 nats and delta 3.65e-09 per release, protecting the "
        "original tick of each value, which is published unchanged, delayed by a random 0 to 9 "
        "ticks, against an adversary who sees the release tick of one value alone: this is no "
        "bound on inference from values, from knowledge of other records, or at stream start and "
        "end. In steady state the probabilities of any two delays differ by at most a factor "
        "exp(epsilon / 2) = 9.947. No theorem composes releases: publish a source and key once."
    )


def test_a_promise_about_policies_is_one_per_relevance_interval() -> None:
    household = replace(HOUSEHOLD, limits=Limits(interval=4))
    [promise] = UnicornPS(household, bins=1, epsilon=1.5).guarantees()
    words = in_words(promise)
    assert words.startswith("Swellfish Privacy with epsilon 1.5 nats and delta 8.55e-18 per relev")
    assert "c relevance intervals cover is protected with c times epsilon" in words


def test_a_cold_start_promises_nothing() -> None:
    [nothing] = ThresholdPerturbation(k=10, c0=7, start_mode="cold").guarantees()
    assert "no bound is promised" in in_words(nothing)
    assert "epsilon" not in in_words(nothing)


def test_a_baseline_promises_nothing() -> None:
    [nothing] = PaperConditionalRandomizedResponse(CRR.model, CRR.epsilon).guarantees()
    assert "no bound is promised" in in_words(nothing)
    assert "epsilon" not in in_words(nothing)


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        (GaussianLoss(squares=VARIANCE, draws=3), "of a Gaussian mechanism with mu = 1"),
        (GaussianLoss(squares=VARIANCE // 4, draws=3), "of a Gaussian mechanism with mu = 0.5"),
        (GaussianLoss(squares=VARIANCE // 3, draws=3), "with mu = 0.5774, but for the part"),
        (LaplaceLoss(rate=1e-3, shift=2000), "moved by 2,000 steps of at most 0.001 nats each"),
        (ResponseLoss(epsilon=1.0, symbols=4), "of randomized response among 4 symbols"),
    ],
)
def test_what_is_known_of_the_loss_is_said(loss: Loss, says: str) -> None:
    assert says in parts_in_words(replace(LDP, loss=loss))["privacy loss"]


@pytest.mark.parametrize("loss", [None, PureLoss(1.0), StatedLoss(1.0, 1e-6)])
def test_a_loss_that_epsilon_and_delta_say_is_not_repeated(loss: Loss | None) -> None:
    assert "privacy loss" not in parts_in_words(replace(LDP, loss=loss))
