"""The error of a fixed weight on a Gaussian AR(1) series is known exactly; the printed one is not.

Section 6 of the specification: known parameters, stationary.
"""

from math import sqrt

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from tests.operators.realtime.series import correlated

TABLE = {
    (0.8, 27.78, 416.0): ({0.1: (24.86, 14.14), 0.3: (50.8, 47.3), 0.6: (154, 154)}, 23.81, 23.78),
    (0.8, 27.78, 20.0): ({0.1: (17.30, 8.40), 0.3: (9.97, 7.23), 0.6: (9.78, 9.39)}, 8.89, 8.77),
    (0.5, 1.0, 1.0): (
        {0.1: (0.775, 0.620), 0.3: (0.524, 0.468), 0.6: (0.499, 0.491)},
        0.466,
        0.464,
    ),
    (0.95, 1.0, 5.0): ({0.1: (0.498, 0.164), 0.3: (0.797, 0.635), 0.6: (1.93, 1.91)}, 0.498, 0.479),
}
"""By correlation, variance of true values and of noise: by weight, the exact error and what
Theorem 6.1 says; the error of the best weight; that of a Kalman filter."""

Case = tuple[float, float, float]


def pull(case: Case, weight: float) -> float:
    correlation, true, noise = case
    return correlation * true / (true + weight**2 * noise)


def exact(case: Case, weight: float) -> float:
    """The stationary mean squared error."""
    correlation, true, noise = case
    kept = (1.0 - weight) * pull(case, weight)
    shared = weight * true / (1.0 - kept * correlation)
    own = weight**2 * (true + noise) + 2.0 * kept * weight * correlation * shared
    return own / (1.0 - kept**2) + true - 2.0 * shared


def kalman(case: Case) -> float:
    correlation, true, noise = case
    off = true
    for _ in range(10_000):
        prior = correlation**2 * off + true * (1.0 - correlation**2)
        off = prior * noise / (prior + noise)
    return off


def simulated(case: Case, weight: float, seed: int, runs: int, ticks: int) -> Floats:
    """The mean squared error of each of so many runs."""
    correlation, true, noise = case
    rng = np.random.default_rng(seed)
    series = correlated(rng, runs, correlation, true, ticks) - 100.0
    noisy = series + rng.normal(0.0, sqrt(noise), series.shape)
    estimate, squared = noisy[0], np.zeros(runs)
    burn = 100
    for tick in range(1, ticks):
        predicted = pull(case, weight) * estimate
        estimate = (1.0 - weight) * predicted + weight * noisy[tick]
        if tick >= burn:
            squared += (estimate - series[tick]) ** 2
    return np.asarray(squared / (ticks - burn))


@pytest.mark.parametrize("case", TABLE)
def test_the_exact_errors_are_those_printed(case: Case) -> None:
    by_weight, best, filtered = TABLE[case]
    for weight, (error, _) in by_weight.items():
        assert exact(case, weight) == pytest.approx(error, rel=4e-3)
    grid = [exact(case, weight) for weight in np.linspace(0.01, 1.0, 100)]
    assert min(grid) == pytest.approx(best, rel=2e-3)
    assert kalman(case) == pytest.approx(filtered, rel=2e-3)
    assert min(grid) < 1.04 * kalman(case)


@pytest.mark.parametrize("case", TABLE)
@pytest.mark.parametrize("weight", [0.1, 0.3])
def test_a_simulation_agrees_with_the_exact_error_and_not_with_the_printed_theorem(
    case: Case, weight: float
) -> None:
    """Within four standard errors of 200 runs: by chance in one of 16,000 cases, were they not
    fixed."""
    found = simulated(case, weight, seed=1, runs=200, ticks=2100)
    error = found.std(ddof=1) / sqrt(len(found))
    assert abs(found.mean() - exact(case, weight)) < 4.0 * error
    _, theorem = TABLE[case][0][weight]
    assert found.mean() - theorem > 20.0 * error
