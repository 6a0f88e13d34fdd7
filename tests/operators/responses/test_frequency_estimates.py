"""Shares are estimated without bias, and error bars are as wide as they must be.

Statistics have fixed seeds; each would fail for another seed with a probability below 1e-3.
"""

from dataclasses import dataclass
from math import exp, expm1

import numpy as np
import pytest

from fugu.operators.mechanism import Floats, Inputs, Integers
from fugu.operators.responses.frequency_estimates import (
    FrequencyEstimate,
    ReportingLaw,
    estimated_shares,
    standard_errors,
)
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
from tests.operators.noise.simulated import SimulatedDraws

SHARES = np.array([0.6, 0.3, 0.1, 0.0])
TOPICS, RECORDS = 400, 500
DEVIATIONS = 4.0

Response = GeneralizedRandomizedResponse | OptimizedUnaryEncoding
RESPONSES: list[Response] = [
    GeneralizedRandomizedResponse(4, epsilon=1.0),
    GeneralizedRandomizedResponse(4, epsilon=3.0),
    OptimizedUnaryEncoding(4, epsilon=1.0),
    OptimizedUnaryEncoding(4, epsilon=3.0),
    OptimizedUnaryEncoding(4, epsilon=1.0, output="symbol"),
]


def counts_of_many_topics(response: Response) -> Integers:
    """Return how many releases report each symbol, in topics of the same truth, `(topics, n)`."""
    truth = np.tile(np.repeat(np.arange(4), (SHARES * RECORDS).astype(np.int64)), TOPICS)
    simulated = SimulatedDraws(np.random.default_rng(8))
    _, releases = response.step(response.start(len(truth)), Inputs(truth), simulated)
    values = releases.values
    bits = values if values.ndim == 2 else values[:, None] == np.arange(4)
    return np.asarray(bits.reshape(TOPICS, RECORDS, 4).sum(axis=1))


@pytest.fixture(scope="module", params=range(len(RESPONSES)))
def estimates(request: pytest.FixtureRequest) -> tuple[Response, list[FrequencyEstimate]]:
    response = RESPONSES[request.param]
    counts = counts_of_many_topics(response)
    return response, [estimated_shares(count, RECORDS, response) for count in counts]


def test_estimates_are_unbiased(estimates: tuple[Response, list[FrequencyEstimate]]) -> None:
    response, found = estimates
    error = standard_errors(SHARES, RECORDS, response) / TOPICS**0.5
    mean = np.mean([estimate.shares for estimate in found], axis=0)
    assert (np.abs(mean - SHARES) < DEVIATIONS * error).all()


def test_estimates_vary_as_much_as_the_variance_says(
    estimates: tuple[Response, list[FrequencyEstimate]],
) -> None:
    response, found = estimates
    variance = standard_errors(SHARES, RECORDS, response) ** 2
    measured = np.var([estimate.shares for estimate in found], axis=0)
    assert measured == pytest.approx(variance, rel=DEVIATIONS * (2.0 / TOPICS) ** 0.5)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_cover_the_true_share_as_often_as_they_say(
    estimates: tuple[Response, list[FrequencyEstimate]], confidence: float
) -> None:
    covered = [
        (lower <= SHARES) & (upper >= SHARES)
        for lower, upper in (estimate.intervals(confidence).T for estimate in estimates[1])
    ]
    tolerance = DEVIATIONS * (confidence * (1.0 - confidence) / TOPICS) ** 0.5
    assert np.mean(covered, axis=0) == pytest.approx(confidence, abs=tolerance)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("symbols", [2, 4, 30])
def test_variances_are_those_of_the_specification(symbols: int, epsilon: float) -> None:
    n, g, f, releases = symbols, expm1(epsilon), np.array([0.0, 0.2, 1.0]), 700
    grr = standard_errors(f, releases, GeneralizedRandomizedResponse(n, epsilon)) ** 2
    oue = standard_errors(f, releases, OptimizedUnaryEncoding(n, epsilon)) ** 2
    assert grr == pytest.approx(((n - 2 + exp(epsilon)) / g**2 + f * (n - 2) / g) / releases)
    assert oue == pytest.approx((4 * exp(epsilon) / g**2 + f) / releases)


@dataclass(frozen=True)
class Law:
    reported_if_true: float = 0.75
    reported_if_other: float = 0.25


LAW: ReportingLaw = Law()


def test_an_estimate_may_leave_the_unit_interval() -> None:
    estimate = estimated_shares(np.array([90, 10]), 100, LAW)
    assert estimate.shares == pytest.approx([1.3, -0.3])
    assert estimate.projected().tolist() == [1.0, 0.0]


@pytest.mark.parametrize("seed", range(5))
def test_the_projection_is_the_nearest_point_of_the_simplex(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.normal(0.2, 0.4, size=5)
    projected = FrequencyEstimate(shares, np.ones(5)).projected()
    assert projected.sum() == pytest.approx(1.0)
    assert projected.min() >= 0.0
    others: Floats = rng.dirichlet(np.ones(5) / 2.0, size=2_000)
    towards = others - projected
    assert (towards @ (shares - projected)).max() <= 1e-12


def test_what_is_a_distribution_stays_as_it_is() -> None:
    shares = np.array([0.5, 0.0, 0.5])
    assert FrequencyEstimate(shares, np.ones(3)).projected() == pytest.approx(shares)


@pytest.mark.parametrize(
    ("counts", "releases", "field"),
    [([1, 2], 0, "releases"), ([-1, 2], 5, "counts"), ([1, 6], 5, "counts")],
)
def test_counts_that_cannot_be_are_refused(counts: list[int], releases: int, field: str) -> None:
    with pytest.raises(ValueError, match=f"^{field}: "):
        estimated_shares(np.array(counts), releases, LAW)


@pytest.mark.parametrize("confidence", [0.0, 1.0, float("nan")])
def test_a_confidence_that_cannot_be_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match=r"^confidence: "):
        estimated_shares(np.array([1, 2]), 3, LAW).intervals(confidence)
