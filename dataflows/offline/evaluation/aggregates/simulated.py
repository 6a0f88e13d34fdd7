"""Simulate rivals of real-time release over the true figures, which no pipeline runs.

All of them share epsilon, and delta where they use one, among the ticks of the sample, for
everything a user contributes. An *oracle* has a parameter that is chosen by looking at the true
figures, the best of many for each run: it bounds what a method could do, and is not private.
`offline` ones need the whole series, or a whole block, before they release anything of it.

One contribution changes a tick by `sensitivity` units over all groups, and by `bin_sensitivity` in
each of `changed_bins`. So vectors of a tick change by bin_sensitivity sqrt(changed_bins) at most
(normal); and as a user can go through all groups, the lengths of their series by sqrt(groups ticks)
times that, all added up (dft).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import sqrt

import numpy as np

from fugu.dataflows.kinds import RealTimeOperator
from fugu.dataflows.offline.evaluation.aggregates.figures import Figures
from fugu.dataflows.offline.evaluation.aggregates.utility import RealTimeUtility
from fugu.dataflows.offline.evaluation.report import Beside
from fugu.operators.mechanism import Floats
from fugu.operators.noise.gaussian import VARIANCE, squares_of
from fugu.operators.realtime import rivals

_PROCESS_VARIANCES = tuple(4.0**power for power in range(-15, 3))
"""Tries these for FAST, relative to the noise variance."""
_FREQUENCIES = 24
_BLOCKS = 10


@dataclass(frozen=True)
class Promise:
    """Say what noise is for."""

    operator: RealTimeOperator
    epsilon: float

    @property
    def length(self) -> float:
        """Return by how much one contribution changes the vector of a tick (L2)."""
        return self.operator.bin_sensitivity * sqrt(self.operator.changed_bins)


@dataclass(frozen=True)
class Simulated:
    """Simulate one rival; `remark` stands beside its name, everywhere."""

    name: str
    remark: str
    uses_true_data: bool
    offline: bool
    made: Callable[[Floats, Promise, np.random.Generator], tuple[Floats, float]]
    """Values and their standard error, NaN where the rival says none."""

    @property
    def label(self) -> str:
        """Return the name for people."""
        return f"{self.name} ({self.remark})"

    def figures(self, truth: Floats, promise: Promise, rng: np.random.Generator) -> Figures:
        """Run once over `truth (ticks, groups)`."""
        values, error = self.made(truth, promise, rng)
        return Figures(values, np.ones(len(truth), dtype=bool), np.full(values.shape, error))


@dataclass(frozen=True, eq=False)
class SimulatedRow(Beside):
    """Hold what a rival errs that no pipeline runs."""

    rival: Simulated
    utility: RealTimeUtility

    def document(self) -> dict[str, object]:
        """Return the same for a machine."""
        return {
            "name": self.rival.name,
            "epsilon": self.epsilon,
            "uses_true_data": self.rival.uses_true_data,
            "offline": self.rival.offline,
            "utility": self.utility.document(),
        }


def _normal(truth: Floats, promise: Promise, rng: np.random.Generator) -> tuple[Floats, float]:
    """Use the exact account for continuous noise, which asks for the least."""
    total = squares_of(promise.epsilon, float(promise.operator.delta)) / VARIANCE
    values = rivals.normal(truth, total=total, sensitivity=promise.length, rng=rng)
    return values, sqrt(len(truth) / total) * promise.length


def _fast(truth: Floats, promise: Promise, rng: np.random.Generator) -> tuple[Floats, float]:
    sensitivity, epsilon = float(promise.operator.sensitivity), promise.epsilon
    noisy = rivals.laplace(truth, epsilon=epsilon, sensitivity=sensitivity, rng=rng)
    variance = 2.0 * (len(truth) * sensitivity / epsilon) ** 2
    smoothed = (
        rivals.smoothed(noisy, noise_variance=variance, process_variance=ratio * variance)
        for ratio in _PROCESS_VARIANCES
    )
    return _nearest(truth, smoothed), np.nan


def _fourier(truth: Floats, promise: Promise, rng: np.random.Generator) -> tuple[Floats, float]:
    """Perturb frequencies: some numbers of them from 1 to all, by about the same factor."""
    release = partial(
        rivals.kept_frequencies,
        truth,
        epsilon=promise.epsilon,
        sensitivity=promise.length * sqrt(truth.shape[1]),
        rng=rng,
    )
    spaced = np.geomspace(1, len(truth) // 2 + 1, _FREQUENCIES)
    numbers = sorted(set(np.rint(spaced).astype(int).tolist()))
    return _nearest(truth, (release(kept=number) for number in numbers)), np.nan


def _fourier_of_blocks(
    truth: Floats, promise: Promise, rng: np.random.Generator
) -> tuple[Floats, float]:
    """Perturb frequencies of each tenth of the series when it is over."""
    block = max(1, len(truth) // _BLOCKS)
    release = partial(
        rivals.kept_frequencies_of_blocks,
        truth,
        block=block,
        epsilon=promise.epsilon,
        sensitivity=promise.length * sqrt(truth.shape[1]),
        rng=rng,
    )
    numbers = range(1, block // 2 + 2)
    return _nearest(truth, (release(kept=number) for number in numbers)), np.nan


def _nearest(truth: Floats, tried: Iterable[Floats]) -> Floats:
    """Choose as nobody could without the truth."""
    return min(tried, key=lambda values: float(np.mean((values - truth) ** 2)))


SIMULATED: Mapping[str, Simulated] = {
    one.name: one
    for one in (
        Simulated("normal", "simulated", False, False, _normal),
        Simulated("fast", "true data", True, False, _fast),
        Simulated("dft", "true data, offline", True, True, _fourier),
        Simulated("online_dft", "true data, late", True, False, _fourier_of_blocks),
    )
}
