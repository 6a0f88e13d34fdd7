"""Test how promises compose, and what delta so many releases have."""

from dataclasses import replace

import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.guarantee import Composition, Per, Point
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from tests.conformance.kinds import KINDS

GRR = GeneralizedRandomizedResponse(symbols=4, epsilon=1.0)
[LDP] = GRR.guarantees()


@pytest.mark.parametrize(
    ("per", "composition"),
    [
        ("release", "releases"),
        ("window", "windows"),
        ("period", "windows"),
        ("interval", "intervals"),
        ("stream", "total"),
    ],
)
def test_what_epsilon_counts_says_how_releases_compose(per: Per, composition: Composition) -> None:
    assert replace(LDP, per=per).composition == composition


def test_laws_of_delays_and_anonymity_do_not_compose_and_budgets_bound_the_rest() -> None:
    for kind, tests in KINDS.items():
        for example in tests.examples():
            for guarantee in example.mechanism.guarantees():
                alone = kind.endswith("_perturbation") or kind == "anonymize"
                assert (guarantee.composition == "none") == alone
                bounded = guarantee.per == "stream"
                assert (guarantee.composition == "total") == bounded


def test_a_budget_turns_releases_that_add_up_into_a_total() -> None:
    [whole] = Budgeted(GRR, total=7.0).guarantees()
    [rate] = Budgeted(GRR, total=7.0, window=5).guarantees()
    assert (LDP.composition, whole.composition, rate.composition) == (
        "releases",
        "total",
        "releases",
    )
    assert rate.epsilon == LDP.epsilon


def test_deltas_of_many_releases_add_up_and_of_any_number_are_stated_for_each() -> None:
    noisy = replace(LDP, delta=1e-7, finite_precision_delta=1e-9)
    ten, any_number = noisy.of_releases(10), noisy.of_releases(None)
    assert ten.total_delta == pytest.approx(10 * noisy.total_delta, rel=1e-12)
    assert ten.total_delta >= 10 * (1e-7 + 1e-9)
    assert (any_number.total_delta, any_number.delta_per_release) == (0.0, noisy.total_delta)


# Points are what they are named and numbered, not how they are worded.


LONGEST = Point("longest", "no interval has more than {ticks:,} ticks")


def test_other_words_are_the_same_point() -> None:
    reworded = replace(LONGEST, sentence="intervals end after {ticks} ticks")
    assert reworded.of(ticks=7) == LONGEST.of(ticks=7)
    assert hash(reworded) == hash(LONGEST)


def test_another_name_or_number_is_another_point() -> None:
    others = [LONGEST.of(ticks=8), LONGEST.of(ticks=7, bins=1), LONGEST]
    assert LONGEST.of(ticks=7) not in [*others, replace(LONGEST, name="other").of(ticks=7)]


def test_a_number_that_the_sentence_names_is_not_left_out() -> None:
    with pytest.raises(KeyError, match="ticks"):
        str(LONGEST)
