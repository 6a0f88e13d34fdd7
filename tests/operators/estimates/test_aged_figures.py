"""Bars of repeated figures and of sums, against walks of known drift."""

import numpy as np
import pytest

from fugu.operators.estimates.aged_figures import laplace_quantile, sum_of


def test_the_error_of_a_sum_is_that_of_simulated_walks() -> None:
    rng, runs, drift = np.random.default_rng(2), 20_000, 4.0
    ages = np.array([2, 3, 0, 1, 2, 0])
    errors = np.array([3.0, 3.0, 1.0, 1.0, 1.0, 2.0])
    walk = np.cumsum(rng.normal(0.0, 2.0, (runs, 9)), axis=1)
    ticks = np.arange(3, 9)
    measured = ticks - ages
    pairs = zip(measured, errors, strict=True)
    noise = {tick: rng.normal(size=runs) * error for tick, error in pairs}
    shown = np.stack([walk[:, tick] + noise[tick] for tick in measured], axis=1)
    off = shown.sum(axis=1) - walk[:, ticks].sum(axis=1)
    variance, moved, alike = sum_of(errors, ages)
    assert np.sqrt(variance + drift * moved) == pytest.approx(off.std(), rel=0.03)
    assert 1.0 <= alike <= 3.0


def test_quantiles_hold_sums_of_laplace_noise() -> None:
    rng = np.random.default_rng(3)
    for count in (1, 3, 10):
        sums = rng.laplace(size=(200_000, count)).sum(axis=1) / np.sqrt(2.0 * count)
        held = np.mean(np.abs(sums) <= laplace_quantile(0.95, count))
        assert held == pytest.approx(0.95, abs=0.004)
