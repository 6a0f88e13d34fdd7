"""Undo the filter: get the noisy values back from what is published, as any reader can."""

from dataclasses import dataclass

import numpy as np

from fugu.dataflows.records.numbers import decimals_of
from fugu.dataflows.records.series import MORE_DECIMALS
from fugu.operators.mechanism import Floats, Integers, State
from fugu.operators.realtime import filter as filtering
from fugu.operators.realtime.filter import Booleans
from fugu.operators.realtime.local_release import LocalRealTimeRelease

_SMALL = 0.01
"""Bound what rounding may change, as a share of the deviation of the noise."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Hold noisy values in units, `(runs, ticks)`, and how precise each of them is.

    `steps (ticks,)` is the number of grid steps that the width of the range has in each tick, 0
    where nothing was measured. NaN stands where too little of a value is left after rounding, which
    follows from the ticks before.
    """

    noisy: Floats
    steps: Integers

    @classmethod
    def of(cls, mechanism: LocalRealTimeRelease, values: Floats, measured: Integers) -> "Measured":
        """Read them from published `values (runs, ticks)`; `measured (ticks,)` says which count."""
        runs, ticks = values.shape
        steps = steps_of(mechanism, measured)
        units, half = values * mechanism.units_per_one, _rounding(mechanism)
        signs = np.random.default_rng(ticks).choice([-1.0, 1.0], values.shape)
        units = np.concatenate([units, units + half * signs])
        state, noisy = filtering.start(2 * runs, 1), np.full(values.shape, np.nan)
        sure = np.ones(runs, dtype=bool)
        for tick, precision in enumerate(steps.tolist()):
            noise, weight = _precision(mechanism, max(1, precision), 2 * runs)
            if precision:
                filtered = _Filtered.of(state, noise, weight)
                undone = filtered.undone(units[:, tick])
                sure &= filtered.sure(half)
                noisy[:, tick] = np.where(sure, undone[:runs], np.nan)
                state, _ = filtering.advance(state, undone[:, None], noise, weight)
            else:
                state, _ = filtering.skip(state, noise, weight)
        return cls(noisy, steps)

    def evidence(self, middle: float) -> Floats:
        """Return the sum of what noisy values are above `middle`, weighed by their precision.

        It orders runs by the likelihood of any two series that are always as far apart.
        """
        weights = self.steps.astype(np.float64) ** 2
        return np.asarray(np.nansum((self.noisy - middle) * weights, axis=1))


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


def _rounding(mechanism: LocalRealTimeRelease) -> float:
    """Return how far a published value is rounded at most, in units."""
    decimals = decimals_of(mechanism.units_per_one) + MORE_DECIMALS
    return 0.5 * mechanism.units_per_one * 10.0**-decimals


@dataclass(frozen=True, eq=False)
class _Filtered:
    """Hold what a filter does with the next value y: it makes p + K (y - p) of it.

    Where y is a spike, or one of the first two, the estimate is y. The second half of rows has the
    same runs, but for rounding.
    """

    prediction: filtering.Prediction
    gain: Floats
    noise: Floats
    gated: bool

    @classmethod
    def of(cls, state: State, noise: Floats, weight: Floats | None) -> "_Filtered":
        prediction = filtering.predict(state, noise, weight)
        gain = prediction.variance / (prediction.variance + noise) if weight is None else weight
        return cls(
            prediction, np.where(prediction.informed, gain, 1.0)[:, 0], noise, weight is None
        )

    def undone(self, estimate: Floats) -> Floats:
        """Return y of each estimate."""
        predicted = self.prediction.value[:, 0]
        moved, gain = estimate - predicted, self.gain
        if self.gated:
            spread = (self.prediction.variance + self.noise)[:, 0]
            spike = moved * moved > (filtering.GATE * gain) ** 2 * spread
            gain = np.where(spike, 1.0, gain)
        return np.asarray(predicted + moved / np.where(gain > 0.0, gain, 1.0))

    def sure(self, half: float) -> Booleans:
        """Say of which runs y is known but for a small part of its noise."""
        value, other = np.split(self.prediction.value[:, 0], 2)
        gain, its = np.split(self.gain, 2)
        deviation = np.sqrt(self.noise[0, 0])
        off = (np.abs(value - other) + half) * (gain < 1.0)
        known = (off <= _SMALL * gain * deviation) & (np.abs(gain - its) <= _SMALL * gain)
        return np.asarray(known)
