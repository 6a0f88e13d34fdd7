"""Errors of whole series at user level: the filter that learns, beside its rivals.

What somebody must choose for a rival is chosen by looking at true values, which favours it.
"""

from collections.abc import Callable, Iterable

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.realtime import rivals
from fugu.operators.realtime.account import paper_total
from tests.operators.realtime.series import DELTA, TICKS, filtered, noise_variance

KEPT = (1, 2, 3, 5, 10, 20, 50, 100, 150, 200, 300, 400, 501)
"""The numbers of Fourier coefficients that may be kept."""
PROCESS_SHARES = 10.0 ** np.arange(-8, 5)
"""The variance of a step of a random walk, as a part of that of the noise."""


def relative(squared: Floats, truth: Floats) -> float:
    """Return the error of runs with these mean squared errors, `(..., runs)`: the best of the
    first."""
    errors = np.sqrt(squared / TICKS) / np.abs(truth).max(axis=0)
    return float(errors.mean(axis=-1).min())


def error(estimates: Floats, truth: Floats) -> float:
    """Return the relative error of estimates `(ticks, runs)`."""
    return relative(((estimates - truth) ** 2).mean(axis=0), truth)


def errors(truth: Floats, epsilon: float, rng: np.random.Generator) -> dict[str, float]:
    """Return relative errors of `truth (ticks, runs)` by name, for epsilon over all ticks."""
    laplace = rivals.laplace(truth, epsilon=epsilon, sensitivity=1.0, rng=rng)
    total = paper_total(epsilon, DELTA)
    normal = rivals.normal(truth, total=total, sensitivity=1.0, rng=rng)
    adaptive = filtered(truth[:, :, None], np.array([noise_variance(epsilon)]), seed=4)
    return {
        "Laplace": error(laplace, truth),
        "Normal": error(normal, truth),
        "adaptive": relative(adaptive.squared.T, truth),
        "FAST*": min(error(one, truth) for one in smoothed(laplace, epsilon)),
        "DFT*": least(
            truth,
            lambda kept: rivals.kept_frequencies(
                truth, kept=kept, epsilon=epsilon, sensitivity=1.0, rng=rng
            ),
            KEPT,
        ),
    }


def smoothed(laplace: Floats, epsilon: float) -> Iterable[Floats]:
    """Yield what FAST makes of noisy values, by how much it takes true values to move."""
    variance = 2.0 * (TICKS / epsilon) ** 2
    for share in PROCESS_SHARES:
        process = variance * share
        yield rivals.smoothed(laplace, noise_variance=variance, process_variance=process)


def of_blocks(truth: Floats, epsilon: float, block: int, rng: np.random.Generator) -> float:
    """Return the error where each block is transformed by itself once it is over."""
    return least(
        truth,
        lambda kept: rivals.kept_frequencies_of_blocks(
            truth, block=block, kept=kept, epsilon=epsilon, sensitivity=1.0, rng=rng
        ),
        [kept for kept in KEPT if kept <= block // 2 + 1],
    )


def least(truth: Floats, released: Callable[[int], Floats], choices: Iterable[int]) -> float:
    """Return the least error of a rival over what somebody must choose for it."""
    return min(error(released(choice), truth) for choice in choices)
