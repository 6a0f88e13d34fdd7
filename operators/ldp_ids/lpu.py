"""LDP population uniform (LPU): one group of users reports at each tick, with the whole budget."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.ldp_ids.instruction import Instruction
from fugu.operators.ldp_ids.reporting import EVERYBODY, Reporting, SharedPopulation
from fugu.operators.mechanism import Integers, State


@dataclass(frozen=True, eq=False)
class CollectedPopulationUniform(Collector):
    """Count users at every tick by one of `window` groups, which reports once in a window.

    Claim. As for `Collector`: a window has one report of a user, with all of epsilon.

    Parameters: `symbols`, `window`, `epsilon` and `oracle`, as there; so are input, release and
    errors.

    >>> from fugu.operators.trial import released
    >>> lpu = CollectedPopulationUniform(symbols=2, window=2, epsilon=4.0)
    >>> [tick] = released(lpu, [[100, 0, 50, 0, 0, 40, 10]])
    >>> tick.values.round(1).tolist()
    [[89.4, 10.6]]

    Source: PBA specification, section 4 (LPU); Ren et al. 2022.
    """

    kind: ClassVar[str] = "lpu"
    claim: ClassVar[str] = "a user reports once in any window, with all of epsilon"

    @property
    def reporting(self) -> Reporting:
        return SharedPopulation(
            self.symbols, self.window, self.units, 0, self.oracle, fixed=self._at_a_tick
        )

    def _at_a_tick(self, tick: int) -> Instruction:
        group = EVERYBODY // self.window
        return Instruction(group, tick % self.window * group)

    def _published_with(self, state: State) -> Integers:
        return np.full(len(state["budget"]), self.units)

    @property
    def first_units(self) -> int:
        return self.units

    @property
    def first_share(self) -> float:
        return 1.0 / self.window

    def _more(self) -> Mapping[str, object]:
        return {"share of users who report at a tick": self.first_share}
