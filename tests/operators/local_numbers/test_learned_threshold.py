"""ToPL: the threshold of the specification, and releases that are cut off at it."""

from math import exp

import numpy as np
import pytest
from scipy.stats import chisquare

from fugu.operators.local_numbers.learned_threshold import BINS, LearnedThreshold, SquareWave
from fugu.operators.mechanism import Inputs, Kind
from fugu.operators.randomness import DrawScope, Secret, record_positions


def plain_threshold(shares: np.ndarray, variance: float, remaining: int) -> float:
    """Return the minimum of the error of section 9, term by term."""
    middles = (np.arange(BINS) + 0.5) / BINS
    errors = []
    for end in np.arange(1, BINS + 1) / BINS:
        cut = sum(h * (v - end) for h, v in zip(shares, middles, strict=True) if v >= end)
        errors.append(remaining * variance * end**2 / 3.0 + remaining**2 / 24.0 * cut**2)
    return (int(np.argmin(errors)) + 1) / BINS


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("remaining", [100, 10_000, 1_000_000])
def test_the_threshold_is_where_noise_and_what_is_cut_off_err_least(
    epsilon: float, remaining: int
) -> None:
    topl = LearnedThreshold(0, 1000, epsilon, 1, 100)
    shares = np.random.default_rng(1).dirichlet(np.linspace(5.0, 0.05, BINS))
    expected = plain_threshold(shares, topl.hybrid.variance, remaining)
    assert topl.threshold(shares, remaining) == expected


def test_first_numbers_have_no_release_and_the_mean_of_the_others_is_right() -> None:
    rng = np.random.default_rng(2)
    values = rng.integers(100, 300, 40_000)
    topl = LearnedThreshold(0, 4_000, 4.0, 2, 4_000)
    scope = DrawScope(Secret(bytes(32)), "test", topl.kind, 1, topl.law_digest())
    keys = [b"user-%d" % number for number in range(len(values))]
    draws = scope.draws(keys, record_positions("numbers", 0, range(len(values))))
    _, releases = topl.step({}, Inputs(values), draws)
    assert releases.kinds is not None
    assert (releases.kinds[:4_000] == Kind.SUPPRESSED).all()
    assert (releases.kinds[4_000:] == Kind.FRESH).all()
    told = releases.values[4_000:]
    assert told.mean() == pytest.approx(values[4_000:].mean() / 2.0, rel=0.03)
    wide = topl.hybrid.variance**0.5 * 4_000 / 2.0 / 2.0
    assert told.std() < wide / 5.0


def test_it_claims_epsilon_for_each_number() -> None:
    [promise] = LearnedThreshold(0, 10, 0.7, 1, 5).guarantees()
    assert (promise.notion, promise.epsilon, promise.per) == ("ldp", 0.7, "release")


# Square wave reports: their law, its privacy, and what is estimated of many.


EPSILONS = (0.0005, 0.1, 0.5, 1.0, 3.0, 8.0)


@pytest.mark.parametrize(
    ("epsilon", "half_width"),
    [(1.0, 1.0 / (2.0 * exp(1.0) * (exp(1.0) - 2.0))), (0.0005, 0.499833), (0.002, 0.499334)],
)
def test_the_half_width_is_that_of_the_specification(epsilon: float, half_width: float) -> None:
    assert SquareWave(epsilon).half_width == pytest.approx(half_width, abs=2e-5)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_report_tells_two_numbers_apart_by_more_than_epsilon(epsilon: float) -> None:
    wave = SquareWave(epsilon)
    b = wave.half_width
    reports = np.linspace(-b, 1.0 + b, 4001)
    laws = np.array([wave.density(value, reports) for value in np.linspace(0.0, 1.0, 21)])
    assert np.log(laws.max(axis=0) / laws.min(axis=0)).max() == pytest.approx(epsilon, abs=1e-12)
    assert 2.0 * b * wave.near + wave.far == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_reports_have_the_declared_density(value: float) -> None:
    wave, rng = SquareWave(1.0), np.random.default_rng(3)
    reports = wave.reports(np.full(100_000, value), rng.random((2, 100_000)))
    b = wave.half_width
    ends = np.unique([-b, *np.linspace(0.0, 1.0, 12), value - b, value + b, 1.0 + b])
    found, _ = np.histogram(reports, ends)
    expected = wave.density(value, 0.5 * (ends[1:] + ends[:-1])) * np.diff(ends)
    assert found.sum() == 100_000
    assert chisquare(found, 100_000 * expected / expected.sum()).pvalue > 1e-3


def test_the_estimate_of_many_reports_is_near_the_truth() -> None:
    wave, rng = SquareWave(6.0), np.random.default_rng(5)
    values = rng.uniform(0.2, 0.4, 20_000)
    shares = wave.shares(wave.reports(values, rng.random((2, 20_000))))
    middles = (np.arange(BINS) + 0.5) / BINS
    assert shares.sum() == pytest.approx(1.0)
    assert float((shares * middles).sum()) == pytest.approx(0.3, abs=0.01)
    assert shares[middles > 0.45].sum() == 0.0


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 50.1, float("nan")])
def test_an_epsilon_out_of_bounds_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon: must be above 0 and at most 50"):
        SquareWave(epsilon)
