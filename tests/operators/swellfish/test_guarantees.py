"""The promises of Swellfish privacy, and what they do not cover."""

from dataclasses import replace
from math import expm1

import numpy as np
import pytest

from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.operators.guarantee import Guarantee
from fugu.operators.noise.unit_laplace import TOTAL_VARIATION
from fugu.operators.swellfish.household import HOUSEHOLD
from fugu.operators.swellfish.interval_strategies import Unicorn, UnicornPS
from fugu.operators.swellfish.policy import Limits
from fugu.operators.swellfish.strategy import Irrelevant
from fugu.operators.swellfish.ts_strategies import TSUniform
from tests.operators.swellfish.running import run, simulated


def promise(irrelevant: Irrelevant = "repeat") -> Guarantee:
    [guarantee] = UnicornPS(HOUSEHOLD, 1, 1.0, irrelevant=irrelevant).guarantees()
    return guarantee


def test_a_single_secret_costs_epsilon_and_c_intervals_cost_c_times_as_much() -> None:
    guarantee = promise()
    assert (guarantee.notion, guarantee.per, guarantee.epsilon) == ("swellfish", "interval", 1.0)
    assert (guarantee.neighbours.whose, guarantee.neighbours.change) == ("person", "stated")
    words = in_words(guarantee)
    assert "c relevance intervals cover is protected with c times epsilon" in words
    assert "all secrets of a stream are unbounded under sequential composition" in words


@pytest.mark.parametrize(
    ("irrelevant", "said"),
    [
        ("repeat", "the last release is repeated"),
        ("exact", "the true figures are published, without noise"),
        (0.25, "0.25 nats each, which is no promise about any policy"),
    ],
)
def test_nothing_is_promised_about_ticks_without_a_relevant_policy(
    irrelevant: Irrelevant, said: str
) -> None:
    first, *_ = map(str, promise(irrelevant).not_covered)
    assert first.startswith("ticks at which no policy of anybody is relevant")
    assert said in first


def test_what_else_is_not_covered_is_said() -> None:
    text = "; ".join(map(str, promise().not_covered))
    for open_point in (
        "whether a person is in the stream at all",
        "the policies themselves",
        "stated too late",
        "how the ticks of one person depend on each other",
    ):
        assert open_point in text


@pytest.mark.parametrize(("window", "published"), [(4, 4), (3, 0)])
def test_nothing_is_published_while_an_interval_is_longer_than_the_window(
    window: int, published: int
) -> None:
    """Ticks 2 to 5 of HOUSEHOLD are one."""
    strategy = TSUniform(HOUSEHOLD, 1, 1.0, window=window)
    ran = run(strategy, np.zeros((10, 1, 1), dtype=np.int64), simulated(1))
    assert np.count_nonzero(ran.units("publication")[2:6]) == published
    assert np.count_nonzero(ran.units("publication")[7:10]) == 3


def test_finite_precision_counts_the_decision_all_bins_and_all_ticks_of_an_interval() -> None:
    """The longest interval that HOUSEHOLD may ever have has 7 ticks."""
    household = replace(HOUSEHOLD, limits=Limits(interval=7))
    deltas = [
        kind(household, bins, 1.0).guarantees()[0].finite_precision_delta
        for kind, bins in ((UnicornPS, 1), (Unicorn, 1), (UnicornPS, 2), (UnicornPS, 2**17))
    ]
    for delta, draws in zip(deltas, (1, 2, 2, HOUSEHOLD.largest_sensitivity), strict=True):
        expected = (2 * 7 * draws + expm1(1.0)) * TOTAL_VARIATION
        assert delta == pytest.approx(expected, rel=1e-9, abs=0)
