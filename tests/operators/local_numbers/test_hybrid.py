"""Hybrid reports: unbiased, of the variance of the specification, and private."""

from math import exp, log

import numpy as np
import pytest

from fugu.operators.local_numbers.learned_threshold import HybridMechanism

EPSILONS = (0.1, 0.6, 0.61, 1.0, 2.0, 5.0)
VALUES = np.array([-1.0, -0.4, 0.0, 0.7, 1.0])


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_each_of_both_ways_is_private(epsilon: float) -> None:
    hybrid = HybridMechanism(epsilon)
    reports = np.linspace(-hybrid.reach, hybrid.reach, 4001)
    laws = np.array([hybrid.density(value, reports) for value in np.linspace(-1.0, 1.0, 41)])
    assert np.log(laws.max(axis=0) / laws.min(axis=0)).max() == pytest.approx(epsilon, abs=1e-9)
    up = hybrid.chance_of_up(VALUES)
    assert log(up.max() / up.min()) == pytest.approx(epsilon, abs=1e-9)
    assert log((1.0 - up).max() / (1.0 - up).min()) == pytest.approx(epsilon, abs=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_mean_and_variance_are_exact(epsilon: float) -> None:
    """Moments of both laws by integration: the variance of the mixture is the same everywhere."""
    hybrid = HybridMechanism(epsilon)
    for value in VALUES.tolist():
        low = 0.5 * (hybrid.reach + 1.0) * value - 0.5 * (hybrid.reach - 1.0)
        ends = np.unique([-hybrid.reach, low, low + hybrid.reach - 1.0, hybrid.reach])
        density = hybrid.density(value, 0.5 * (ends[1:] + ends[:-1]))
        moments = [
            float((density * (ends[1:] ** power - ends[:-1] ** power)).sum()) / power
            for power in (1, 2, 3)
        ]
        assert moments[:2] == pytest.approx([1.0, value], abs=1e-9)
        up = float(hybrid.chance_of_up(np.array(value)))
        assert hybrid.bit * (2.0 * up - 1.0) == pytest.approx(value, abs=1e-12)
        second = hybrid.piecewise * moments[2] + (1.0 - hybrid.piecewise) * hybrid.bit**2
        constant = epsilon >= 0.61
        assert second - (value**2 if constant else 0.0) == pytest.approx(hybrid.variance)


def test_the_variance_is_that_of_the_specification() -> None:
    root = exp(0.5)
    told = (root + 3.0) / (3.0 * root * (root - 1.0)) + (exp(1.0) + 1.0) ** 2 / (
        root * (exp(1.0) - 1.0) ** 2
    )
    assert HybridMechanism(1.0).variance == pytest.approx(told)
    assert HybridMechanism(0.5).variance == pytest.approx(((exp(0.5) + 1) / (exp(0.5) - 1)) ** 2)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_reports_have_that_mean_and_variance(epsilon: float) -> None:
    hybrid, rng, rows = HybridMechanism(epsilon), np.random.default_rng(7), 200_000
    for value in (-1.0, 0.4):
        reports = hybrid.reports(np.full(rows, value), rng.random((3, rows)))
        assert reports.mean() == pytest.approx(value, abs=4.0 * (hybrid.variance / rows) ** 0.5)
        spread = hybrid.variance - (value**2 if epsilon < 0.61 else 0.0)
        assert reports.var() == pytest.approx(spread, rel=0.02)
