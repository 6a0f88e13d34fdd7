"""Undo the filter: get the noisy values back from what is published, as any reader can."""

from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.realtime import filter as filtering
from fugu.operators.realtime.local_release import LocalRealTimeRelease


@dataclass(frozen=True, eq=False)
class Measured:
    """Hold noisy values in units, `(runs, ticks)`, and how precise each of them is.

    `steps (ticks,)` is the number of grid steps that the width of the range has in each tick, 0
    where nothing was measured.
    """

    noisy: Floats
    steps: Integers

    @classmethod
    def of(cls, mechanism: LocalRealTimeRelease, values: Floats, measured: Integers) -> "Measured":
        """Read them from published `values (runs, ticks)`; `measured (ticks,)` says which count."""
        steps = steps_of(mechanism, measured)
        state, units = filtering.start(len(values), 1), values * mechanism.units_per_one
        noisy = np.full(values.shape, np.nan)
        for tick, precision in enumerate(steps.tolist()):
            noise, weight = _precision(mechanism, max(1, precision), len(values))
            if precision:
                noisy[:, tick] = _unfiltered(state, units[:, tick], noise, weight)
                state, _ = filtering.advance(state, noisy[:, tick, None], noise, weight)
            else:
                state, _ = filtering.skip(state, noise, weight)
        return cls(noisy, steps)

    @property
    def evidence(self) -> Floats:
        """Return the sum of noisy values, weighed by their precision.

        It orders runs by the likelihood of any two series that are always as far apart.
        """
        return np.asarray(np.nansum(self.noisy * self.steps.astype(np.float64) ** 2, axis=1))


def steps_of(mechanism: LocalRealTimeRelease, measured: Integers) -> Integers:
    """Return the grid steps of each tick that was measured."""
    before = np.cumsum(measured) - measured
    return np.asarray(mechanism.series.schedule.steps(before) * measured)


def _precision(
    mechanism: LocalRealTimeRelease, steps: int, runs: int
) -> tuple[Floats, Floats | None]:
    series, first = mechanism.series, mechanism.series.schedule.first
    deviation = series.noise_deviation * first / steps
    noise = np.full((runs, 1), deviation * deviation)
    if series.weight is None:
        return noise, None
    falls = 1.0 if series.decay is None or series.weight == 1.0 else steps / first
    return noise, np.full((runs, 1), series.weight * falls)


def _unfiltered(
    state: dict[str, Floats], estimate: Floats, noise: Floats, weight: Floats | None
) -> Floats:
    """Return y, where the estimate is p + K (y - p), or y itself."""
    prediction = filtering.predict(state, noise, weight)
    spread = prediction.variance + noise
    gain = prediction.variance / spread if weight is None else weight
    moved = estimate[:, None] - prediction.value
    filtered = prediction.informed & (gain > 0.0)
    if weight is None:
        filtered &= moved * moved <= (filtering.GATE * gain) ** 2 * spread
    undone = prediction.value + moved / np.where(filtered, gain, 1.0)
    return np.asarray(np.where(filtered, undone, estimate[:, None])[:, 0])
