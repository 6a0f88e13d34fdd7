"""Guarantees in words."""

from dataclasses import replace
from itertools import product
from math import exp, log, sqrt
from statistics import NormalDist

import numpy as np
import pytest

from fugu.dataflows.base.ticks import duration
from fugu.dataflows.pipeline.guarantee_text import (
    SEVERAL,
    consequence_of,
    in_words,
    parts_in_words,
    per_cent,
    per_in_words,
    protected_in_words,
    right,
)
from fugu.operators.guarantee import (
    CONTRIBUTIONS,
    PRESENCE,
    GaussianLoss,
    Guarantee,
    LaplaceLoss,
    Loss,
    Neighbours,
    Per,
    PureLoss,
    ResponseLoss,
    StatedLoss,
)
from fugu.operators.noise.gaussian import VARIANCE
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.conditional_randomized_response import PaperConditionalRandomizedResponse
from fugu.operators.swellfish.household import HOUSEHOLD
from fugu.operators.swellfish.interval_strategies import UnicornPS
from fugu.operators.swellfish.policy import Limits
from fugu.operators.temporal.threshold import ThresholdPerturbation
from fugu.operators.totals.buffers import participation
from fugu.operators.totals.running_total import RunningTotal
from tests.conformance.kinds import KINDS
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


# One sentence for whatever neighbours may differ in, written from data.


UNIFORM = KINDS["uniform"].examples()[0].mechanism.guarantees()[0]
KEPT = "while every record keeps its place and its timestamp"


def promise(neighbours: Neighbours, per: Per = "window") -> Guarantee:
    return replace(UNIFORM, neighbours=neighbours, per=per)


@pytest.mark.parametrize(
    ("neighbours", "per", "says"),
    [
        (
            CONTRIBUTIONS,
            "window",
            "what one person contributes within any such window, of which any part may be replaced "
            f"by another contribution or by none, {KEPT}",
        ),
        (
            CONTRIBUTIONS,
            "period",
            "what one person contributes within one such period, of which any part may be replaced "
            f"by another contribution or by none, {KEPT}",
        ),
        (
            PRESENCE,
            "stream",
            "everything that one person contributes, of which any part may be there or absent, but "
            f"no contribution may take the place of another one, {KEPT}",
        ),
        (
            Neighbours("stream", "symbol", "replaced"),
            "release",
            "the symbols of one stream that one release is about, of which any part may be "
            f"replaced by other symbols, {KEPT}",
        ),
        (
            Neighbours("stream", "number", "replaced"),
            "stream",
            "all numbers of one stream, of which any part may be replaced by other numbers of the "
            f"range, {KEPT}",
        ),
        (
            Neighbours("stream", "symbol", "believed"),
            "release",
            "the sequence of true symbols of one stream",
        ),
        (
            Neighbours("stream", "tick", "delayed", reach=9),
            "release",
            "the original tick of each value, which is published unchanged, delayed by a random "
            "0 to 9 ticks",
        ),
    ],
)
def test_a_sentence_says_whose_what_may_be_other_and_what_stays(
    neighbours: Neighbours, per: Per, says: str
) -> None:
    assert protected_in_words(promise(neighbours, per)) == says


@pytest.mark.parametrize(
    ("kept", "says"),
    [
        (("presence",), "while every record stays"),
        (("presence", "timestamp"), "while every record keeps its timestamp"),
        ((), "while records may be added or removed"),
        (
            ("timestamp",),
            "while records may be added or removed, and each of the others keeps its timestamp",
        ),
    ],
)
def test_what_is_not_kept_is_not_said_to_be(kept: tuple[str, ...], says: str) -> None:
    neighbours = replace(CONTRIBUTIONS, kept=kept)  # type: ignore[arg-type]
    assert says in protected_in_words(promise(neighbours))


@pytest.mark.parametrize(
    ("per", "window", "tick", "says"),
    [
        ("release", None, None, "release"),
        ("window", 10, None, "window of 10 consecutive ticks"),
        ("window", 10, 900_000, "window of 10 consecutive ticks of 15 min (2 h 30 min)"),
        ("window", 1, 86_400_000, "window of 1 tick of 1 day"),
        ("period", 7, 86_400_000, "aligned period of 7 ticks of 1 day (7 days)"),
        ("stream", None, None, "stream, over its whole life"),
    ],
)
def test_a_window_has_its_length_in_time_where_ticks_have_one(
    per: Per, window: int | None, tick: int | None, says: str
) -> None:
    assert per_in_words(per, window, tick) == says


def test_durations_are_exact() -> None:
    assert duration(1) == "1 ms"
    assert duration(86_400_000 * 2 + 1) == "2 days 1 ms"


# Guess against a promise: no rule is right more often, and the best one comes near.


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
