"""Three real-time releases together keep the (epsilon, delta) that is claimed for them.

By the exact law of the sum of three draws of discrete Gaussian noise, and on a small grid by
enumerating all outputs of three ticks against an adversary who chooses as he goes.
"""

from math import exp
from typing import NamedTuple

import numpy as np
import pytest

from fugu.operators.auditing.steps_as_drawn import ChosenPoints
from fugu.operators.mechanism import Floats, Inputs
from fugu.operators.noise.gaussian_table import table
from fugu.operators.realtime.real_time_release import RealTimeRelease
from tests.operators.noise.theorem_3 import proved_delta
from tests.operators.realtime.zcdp_conversion import delta_of_zcdp, epsilon_of_zcdp

TICKS, DEVIATION = 3, 2**14


class Budget(NamedTuple):
    epsilon: float
    delta: float
    bins: int


BUDGETS = [Budget(0.5, 1e-5, 1), Budget(1.0, 1e-7, 2), Budget(5.0, 1e-5, 1), Budget(8.0, 1e-3, 2)]


def release_of(budget: Budget) -> RealTimeRelease:
    """Published as measured, so that grid points can be read off."""
    return RealTimeRelease(
        budget.bins, 1, budget.bins, budget.epsilon, budget.delta, horizon=TICKS, weight=1.0
    )


def law() -> Floats:
    """P(k) for k from -10 deviations to 10, as the sampler has it."""
    cumulative = np.concatenate([[0.0], table().astype(np.float64)]) / 2.0**64
    sides = np.diff(cumulative)
    return np.concatenate([sides[:0:-1] / 2.0, sides[:1], sides[1:] / 2.0])


def shift(release: RealTimeRelease, bins: int) -> int:
    """By how many grid steps, in each bin, one person moves what is measured."""
    nothing = ChosenPoints(np.zeros((1, bins), dtype=np.int64))
    published = [
        release.step(release.start(1), Inputs(np.full((1, bins), value)), nothing)[1].values
        for value in (7, 8)
    ]
    moved = (published[1] - published[0]) * release.schedule.first
    assert (moved == release.schedule.first).all()
    return release.schedule.first


def sums(draws: int) -> Floats:
    """The law of the sum of so many draws."""
    one = law()
    length = 2 ** (draws * len(one)).bit_length()
    found = np.fft.irfft(np.fft.rfft(one, length) ** draws, length)
    return np.asarray(np.maximum(found[: draws * (len(one) - 1) + 1], 0.0))


def exact_delta(steps: int, draws: int, epsilon: float) -> float:
    """Return delta of `draws` draws, each moved by `steps`: the loss depends on their sum only."""
    likely = sums(draws)
    total = np.arange(len(likely)) - (len(likely) - 1) // 2
    loss = (draws * steps**2 - 2.0 * steps * total) / (2.0 * DEVIATION**2)
    return float((likely * np.maximum(0.0, -np.expm1(epsilon - loss))).sum())


@pytest.mark.parametrize("budget", BUDGETS)
def test_three_releases_keep_their_delta(budget: Budget) -> None:
    steps = shift(release_of(budget), budget.bins)
    delta = exact_delta(steps, TICKS * budget.bins, budget.epsilon)
    assert 0.97 * budget.delta < delta < budget.delta


@pytest.mark.parametrize("budget", BUDGETS)
def test_one_grid_step_more_in_each_does_not(budget: Budget) -> None:
    """The account leaves nothing over but what rounding does."""
    steps = shift(release_of(budget), budget.bins) + 1
    assert exact_delta(steps, TICKS * budget.bins, budget.epsilon) > budget.delta


@pytest.mark.parametrize(("deviation", "steps"), [(4, 1), (4, 2), (3, 4), (2, 1)])
def test_on_a_small_grid_nobody_who_chooses_as_he_goes_sees_more(
    deviation: int, steps: int
) -> None:
    """The true values of each tick may depend on what the ticks before it released: here the
    neighbours are apart on the side on which the last release was not."""
    reach = 9 * deviation
    points = np.arange(-reach, reach + 1)
    weights = np.exp(-(points**2) / (2.0 * deviation**2))
    likely = weights / weights.sum()
    first, second, third = np.meshgrid(points, points, points, indexing="ij", sparse=True)

    def moved(by: np.ndarray, point: np.ndarray) -> np.ndarray:
        at = point - by + reach
        inside = (at >= 0) & (at < len(points))
        return np.asarray(np.where(inside, likely[np.clip(at, 0, len(points) - 1)], 0.0))

    once = np.full((1, 1, 1), steps)
    sides = [once, np.where(first > 0, -steps, steps), np.where(second > 0, -steps, steps)]
    one = likely[:, None, None] * likely[None, :, None] * likely[None, None, :]
    other = np.ones((1, 1, 1))
    for by, point in zip(sides, (first, second, third), strict=True):
        other = other * moved(by, point)
    rho = TICKS * steps**2 / (2.0 * deviation**2)
    for delta in (1e-3, 1e-6):
        epsilon = epsilon_of_zcdp(rho, delta)
        exact = float(np.maximum(0.0, one - exp(epsilon) * other).sum())
        reverse = float(np.maximum(0.0, other - exp(epsilon) * one).sum())
        proved = proved_delta(deviation, [steps] * TICKS, epsilon)
        assert max(exact, reverse) <= proved * (1.0 + 1e-7)
        assert proved <= delta_of_zcdp(rho, epsilon) <= delta
        assert exact > delta / 100
