"""LDP budget uniform (LBU): everybody reports at every tick, with an equal part of the budget."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.ldp_ids.instruction import Instruction
from fugu.operators.ldp_ids.reporting import Reporting, SharedBudget
from fugu.operators.mechanism import Integers, State


@dataclass(frozen=True, eq=False)
class CollectedUniform(Collector):
    """Count users at every tick, each of whom reports with epsilon / window.

    Claim. As for `Collector`: a window has `window` reports of a user, with an equal part each.

    Parameters: `symbols`, `window`, `epsilon` and `oracle`, as there; so are input, release and
    errors.

    >>> from fugu.operators.trial import released
    >>> lbu = CollectedUniform(symbols=2, window=2, epsilon=4.0)
    >>> [tick] = released(lbu, [[100, 0, 100, 0, 0, 66, 33]])
    >>> tick.values.round(1).tolist(), tick.annotations["standard_error"].round(1).tolist()
    ([[84.6, 13.2]], [9.6])

    Source: PBA specification, section 4 (LBU); Ren et al. 2022.
    """

    kind: ClassVar[str] = "lbu"
    claim: ClassVar[str] = "a user reports at every tick, with an equal part of epsilon"

    @property
    def reporting(self) -> Reporting:
        return SharedBudget(
            self.symbols, self.window, self.units, 0, self.oracle, fixed=self._at_a_tick
        )

    def _at_a_tick(self, tick: int) -> Instruction:
        return Instruction(self.first_units)

    def _published_with(self, state: State) -> Integers:
        return np.full(len(state["budget"]), self.first_units)

    @property
    def first_units(self) -> int:
        return self.units // self.window
