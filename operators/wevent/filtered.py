"""What w-event strategies share that publish what a filter makes of their samples, and not samples.

Their constants are about counts of people. Where contributions are sums, variances are counted in
squared `contribution`s, the most that one person contributes to a tick, in units: figures that are
counted in other units are filtered alike.

State: `estimate` of the filter, its `variance`, the tick that was `sampled` last, and the `errors`
that the controller remembers. Where nothing is sampled, they stay as they are.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from fugu.operators.mechanism import Floats, Integers, State
from fugu.operators.wevent.strategy import LARGEST_VALUE, Strategy, require_size


@dataclass(frozen=True, eq=False)
class FilteredStrategy(Strategy, ABC):
    """A strategy with a filter; see the module."""

    contribution: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_size("contribution", self.contribution, LARGEST_VALUE)

    def _fresh_filter(self, rows: int, remembered: int) -> State:
        """It has seen nothing, and so many errors are remembered."""
        return {
            "estimate": np.zeros((rows, self.bins)),
            "variance": np.zeros(rows),
            "sampled": np.zeros(rows, dtype=np.int64),
            "errors": np.zeros((rows, remembered)),
        }

    @property
    def _squared(self) -> float:
        """One contribution, squared."""
        return float(self.contribution) * float(self.contribution)

    @abstractmethod
    def _filtered(self, state: State, sample: Floats) -> State:
        """The columns of filter and controller after a sample."""

    def _learn(self, state: State, rows: Integers, noisy: Integers) -> tuple[Integers, State]:
        before = {name: column[rows] for name, column in state.items()}
        after = self._filtered(before, noisy.astype(np.float64))
        columns = {name: state[name].copy() for name in after}
        for name, column in after.items():
            columns[name][rows] = column
        return np.rint(after["estimate"]).astype(np.int64), columns
