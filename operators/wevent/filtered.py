"""The filter that FAST and RescueDP share: they publish estimates made of their samples."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from fugu.operators.columns import put, taken
from fugu.operators.mechanism import Floats, Integers, State
from fugu.operators.wevent.allocation import Booleans
from fugu.operators.wevent.limits import LARGEST_VALUE, require_size
from fugu.operators.wevent.strategy import Strategy

PROPORTIONAL, INTEGRAL = 0.9, 0.1
FIRST_VARIANCE = 100.0


@dataclass(frozen=True, eq=False)
class FilteredStrategy(Strategy, ABC):
    """Publish what a Kalman filter makes of noisy samples, and not the samples.

    Its constants are about counts of people. Where contributions are sums, variances are counted in
    squared `contribution`s, the most that one person contributes to a tick, in units: figures that
    are counted in other units are filtered alike.

    State: `estimate` of the filter, its `variance`, the tick that was `sampled` last, and the
    `errors` that the controller remembers. Where nothing is sampled, they stay as they are.
    """

    contribution: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_size("contribution", self.contribution, LARGEST_VALUE)

    def _fresh_filter(self, rows: int, remembered: int) -> State:
        """Return the columns of a filter that has seen nothing, and remembers so many errors."""
        return {
            "estimate": np.zeros((rows, self.bins)),
            "variance": np.zeros(rows),
            "sampled": np.zeros(rows, dtype=np.int64),
            "errors": np.zeros((rows, remembered)),
        }

    @property
    def _squared(self) -> float:
        return float(self.contribution) * float(self.contribution)

    @abstractmethod
    def _filtered(self, state: State, sample: Floats) -> State:
        """Return the columns of filter and controller after a sample."""

    def _kalman(
        self, state: State, sample: Floats, first: Booleans, process: float, measurement: float
    ) -> tuple[Floats, Floats]:
        """Return estimate and variance after a sample, which a `first` one replaces.

        The truth is a random walk with the variance `process` per tick, seen with noise of the
        variance `measurement`.
        """
        variance = state["variance"] + process * (state["tick"] - state["sampled"])
        gain = np.where(first, 1.0, variance / (variance + measurement))
        step = gain[:, None] * (sample - state["estimate"])
        estimate = np.where(first[:, None], sample, state["estimate"] + step)
        return estimate, np.where(first, FIRST_VARIANCE * self._squared, (1.0 - gain) * variance)

    def _learn(self, state: State, rows: Integers, noisy: Integers) -> tuple[Integers, State]:
        after = self._filtered(taken(state, rows), noisy.astype(np.float64))
        columns = {name: state[name].copy() for name in after}
        put(columns, rows, after)
        return np.rint(after["estimate"]).astype(np.int64), columns


def row_sums(columns: Floats) -> Floats:
    """Add up each row, from left to right."""
    return np.asarray(np.cumsum(columns, axis=1)[:, -1])
