"""Limits of probabilities and of leakages hold as often as they say: computed, not simulated."""

from math import log

import numpy as np
import pytest
from scipy.stats import binom

from fugu.dataflows.offline.auditing.confidence import leakage_bound, lower_limit, upper_limit
from fugu.operators.mechanism import Floats

RUNS = 60


def limits(hits: int, runs: int, error: float) -> tuple[float, float]:
    return (
        float(lower_limit(np.array(hits), runs, error)),
        float(upper_limit(np.array(hits), runs, error)),
    )


@pytest.mark.parametrize(
    ("hits", "runs", "low", "high"),
    [
        (0, 10, 0.0, 0.3085),
        (1, 10, 0.0025, 0.4450),
        (5, 10, 0.1871, 0.8129),
        (10, 10, 0.6915, 1.0),
        (4, 20, 0.0573, 0.4366),
    ],
)
def test_clopper_and_pearson_intervals_are_those_of_the_tables(
    hits: int, runs: int, low: float, high: float
) -> None:
    """Two-sided 95 %."""
    assert limits(hits, runs, 0.025) == pytest.approx((low, high), abs=5e-5)


def test_without_a_hit_the_rule_of_three_holds() -> None:
    assert limits(0, 1000, 0.05) == pytest.approx((0.0, 1.0 - 0.05**0.001))
    assert limits(1000, 1000, 0.05) == pytest.approx((0.05**0.001, 1.0))


@pytest.mark.parametrize("error", [0.001, 0.05])
def test_a_limit_is_wrong_at_most_as_often_as_stated_whatever_the_truth(error: float) -> None:
    hits = np.arange(RUNS + 1)
    low, high = lower_limit(hits, RUNS, error), upper_limit(hits, RUNS, error)
    for truth in np.linspace(0.0, 1.0, 101):
        chance = binom.pmf(hits, RUNS, truth)
        assert chance[low > truth].sum() <= error + 1e-12
        assert chance[high < truth].sum() <= error + 1e-12


@pytest.mark.parametrize(("shown", "elsewhere"), [(0.5, 0.5), (0.6, 0.2), (0.9, 0.05), (1.0, 0.3)])
def test_a_leakage_is_overstated_at_most_as_often_as_stated(shown: float, elsewhere: float) -> None:
    error = 0.05
    hits = np.arange(RUNS + 1)
    bounds = leakage_bound(hits[:, None], hits, RUNS, error=error, delta=0.0)
    chance: Floats = binom.pmf(hits, RUNS, shown)[:, None] * binom.pmf(hits, RUNS, elsewhere)
    overstated = chance[bounds > log(shown / elsewhere) + 1e-12].sum()
    assert overstated <= error
    assert shown == elsewhere or chance[bounds > 0.4 * log(shown / elsewhere)].sum() > 0.1


def test_delta_is_taken_off_before_anything_is_claimed() -> None:
    counts = np.array(900), np.array(90)
    plain = leakage_bound(*counts, 1000, error=0.001, delta=0.0)
    assert 1.8 < plain < log(10.0)
    assert leakage_bound(*counts, 1000, error=0.001, delta=0.4) < plain - 0.5
    assert leakage_bound(*counts, 1000, error=0.001, delta=1.0) == 0.0
