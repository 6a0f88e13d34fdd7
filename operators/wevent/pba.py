"""Privacy budget allocation (PBA-DP): budget distribution that saves where nothing is flagged.

Claim. Any `window` consecutive ticks are epsilon-DP together for what one person contributes to
them (w-event privacy), up to the delta of finite precision. A publication at a flagged tick costs
what it does with budget distribution, and half of that at another tick; the remaining half is not
used at all. All flags set, the two are one and the same.

A flag says that ticks are correlated. It improves accuracy, not privacy: under correlation, what it
adds to the budget adds to what an attacker learns.

Parameters: those of `uniform`, and `flags`, a provider from `operators.wevent.flags`. Input and
release: as for `uniform`. State: also `shares`, and what the provider remembers.

>>> import numpy as np
>>> from fugu.operators.mechanism import Inputs
>>> from fugu.operators.randomness import DrawScope, tick_position
>>> from fugu.operators.secret import Secret
>>> from fugu.operators.wevent.flags import Schedule
>>> pba = PrivacyBudgetAllocation(2, 2, 1.0, 1, flags=Schedule((False, True)))
>>> scope = DrawScope(Secret(bytes(32)), "demo", "pba", 1, pba.law_digest())
>>> state, published = pba.start(1), []
>>> for tick in range(4):
...     draws = scope.draws([b"zones"], [tick_position("vitals", tick)])
...     state, releases = pba.step(state, Inputs(np.array([[500, 99 * tick]])), draws)
...     published += releases.annotations["publication_epsilon"].tolist()
>>> published
[0.125, 0.125, 0.09375, 0.15625]

Source: PBA specification, section 2; Hemkumar 2021, chapter 5, corrected.
"""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.mechanism import Integers, State
from fugu.operators.wevent import allocation
from fugu.operators.wevent.flags import NEVER, Flags
from fugu.operators.wevent.strategy import Strategy


@dataclass(frozen=True, eq=False)
class PrivacyBudgetAllocation(Strategy):
    """PBA-DP; see the module for claim, parameters, shapes and source."""

    flags: Flags = NEVER

    kind: ClassVar[str] = "pba"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.PrivacyBudgetAllocation
    claim: ClassVar[str] = (
        "a window spends less than epsilon: half of it on decisions, and on publications one or, "
        "where flagged, two quarters of what their shares have left of the other half"
    )
    proof: ClassVar[str] = "PBA specification, section 2 (theorem)"

    def start(self, rows: int) -> State:
        """What the provider remembers, too."""
        return {**super().start(rows), **self.flags.start(rows, self.bins)}

    def _flags(self, state: State) -> allocation.Booleans:
        return self.flags.now(state)

    def _learn(self, state: State, rows: Integers, noisy: Integers) -> tuple[Integers, State]:
        return noisy, self.flags.after(state, rows, noisy)

    def _not_covered(self) -> tuple[str, ...]:
        return ("correlation that a flag reports: setting flags improves accuracy, not privacy",)

    def _identity(self) -> bytes:
        return self.flags.identity()
