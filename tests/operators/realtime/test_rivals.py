"""Rivals get the noise that their promise asks for, and no more."""

from math import sqrt

import numpy as np
import pytest

from fugu.operators.realtime import rivals

TICKS, RUNS = 100, 400


def test_noise_has_the_scale_of_an_equal_part_for_each_tick() -> None:
    truth, rng = np.full((TICKS, RUNS), 50.0), np.random.default_rng(1)
    laplace = rivals.laplace(truth, epsilon=5.0, sensitivity=2.0, rng=rng) - truth
    assert np.abs(laplace).mean() == pytest.approx(2.0 * TICKS / 5.0, rel=0.03)
    normal = rivals.normal(truth, total=0.5, sensitivity=2.0, rng=rng) - truth
    assert normal.std() == pytest.approx(2.0 * sqrt(TICKS / 0.5), rel=0.03)


@pytest.mark.parametrize("kept", [1, 5, 51])
def test_the_noise_of_frequencies_covers_their_l1_sensitivity(kept: int) -> None:
    """Every tick changes by 1, up or down: the first coefficients change by at most what the
    noise is for, and by nearly as much where the change is all in them."""
    rng, largest = np.random.default_rng(2), 0.0
    changes = rng.choice([-1.0, 1.0], (TICKS, 2000))
    changes[:, 0] = 1.0
    coefficients = np.fft.rfft(changes, axis=0, norm="ortho")[:kept]
    parts = np.abs(coefficients.real) + np.abs(coefficients.imag)
    largest = float(parts.sum(axis=0).max())
    assert largest <= sqrt(kept * TICKS)
    assert kept > 1 or largest == pytest.approx(sqrt(TICKS))


def test_all_frequencies_without_noise_are_the_series_and_few_are_a_smooth_one() -> None:
    truth = np.random.default_rng(3).normal(100.0, 5.0, (TICKS, 3))
    rng = np.random.default_rng(4)

    def kept(number: int) -> float:
        made = rivals.kept_frequencies(truth, kept=number, epsilon=1e12, sensitivity=1.0, rng=rng)
        return float(np.abs(made - truth).max())

    assert kept(TICKS // 2 + 1) < 1e-6
    assert kept(10) > 1.0
    mean = rivals.kept_frequencies(truth, kept=1, epsilon=1e12, sensitivity=1.0, rng=rng)
    assert mean == pytest.approx(np.broadcast_to(truth.mean(axis=0), truth.shape))


def test_blocks_share_the_budget_and_their_noise_is_that_of_frequencies() -> None:
    """A block of a tenth of the ticks has a tenth of epsilon: 10 sqrt(kept block) for each part."""
    truth, rng = np.zeros((TICKS, RUNS)), np.random.default_rng(6)
    block, kept = 10, 6
    found = rivals.kept_frequencies_of_blocks(
        truth, block=block, kept=kept, epsilon=2.0, sensitivity=1.0, rng=rng
    )
    scale = sqrt(kept * block) * 10.0 / 2.0
    parts = 2 * (kept - 2) * 2 + 2  # all but the first and the last are there twice, in two parts
    expected = 2.0 * scale**2 * parts / block
    assert float((found**2).mean()) == pytest.approx(expected, rel=0.1)


def test_a_smoothed_series_follows_a_plain_filter() -> None:
    noisy = np.random.default_rng(5).normal(0.0, 3.0, (50, 1))
    estimate, off, expected = noisy[0, 0], 9.0, [noisy[0, 0]]
    for value in noisy[1:, 0]:
        prior = off + 0.5
        gain = prior / (prior + 9.0)
        estimate = estimate + gain * (value - estimate)
        off = (1.0 - gain) * prior
        expected.append(estimate)
    found = rivals.smoothed(noisy, noise_variance=9.0, process_variance=0.5)
    assert found[:, 0] == pytest.approx(np.array(expected))
