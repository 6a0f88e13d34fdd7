"""LDP sampling (LSP): everybody reports at one tick of every window, with the whole budget."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.ldp_ids.instruction import NOTHING, Instruction
from fugu.operators.ldp_ids.reporting import Reporting, SharedBudget
from fugu.operators.mechanism import Integers, State


@dataclass(frozen=True, eq=False)
class CollectedSample(Collector):
    """Count users at ticks whose number is a multiple of the window, and repeat in between.

    Claim. As for `Collector`: a window has one report of a user, with all of epsilon.

    Parameters: `symbols`, `window`, `epsilon` and `oracle`, as there; so are input, release and
    errors.

    >>> from fugu.operators.trial import released
    >>> lsp = CollectedSample(symbols=2, window=2, epsilon=4.0)
    >>> first, second = released(lsp, [[100, 0, 100, 0, 0, 80, 20], [90, 0, 0, 0, 0, 0, 0]])
    >>> first.values.round(1).tolist(), second.values.round(1).tolist()
    ([[89.4, 10.6]], [[89.4, 10.6]])

    Source: PBA specification, section 4 (LSP); Ren et al. 2022.
    """

    kind: ClassVar[str] = "lsp"
    claim: ClassVar[str] = "a user reports at one tick of every window, with all of epsilon"

    @property
    def reporting(self) -> Reporting:
        return SharedBudget(
            self.symbols, self.window, self.units, 0, self.oracle, fixed=self._at_a_tick
        )

    def _at_a_tick(self, tick: int) -> Instruction:
        return NOTHING if tick % self.window else Instruction(self.units)

    def _published_with(self, state: State) -> Integers:
        return np.full(len(state["budget"]), self.units)

    @property
    def first_units(self) -> int:
        return self.units
