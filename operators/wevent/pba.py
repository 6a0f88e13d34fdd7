"""Privacy budget allocation (PBA-DP): budget distribution that saves where nothing is flagged."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.mechanism import Integers, State
from fugu.operators.points import Point
from fugu.operators.wevent import allocation
from fugu.operators.wevent.flags import NEVER, Flags
from fugu.operators.wevent.strategy import Strategy

_FLAGS = Point(
    "flags", "correlation that a flag reports: setting flags improves accuracy, not privacy"
)


@dataclass(frozen=True, eq=False)
class PrivacyBudgetAllocation(Strategy):
    """Publish when it pays: at a flagged tick as `BudgetDistribution` does, else with half of that.

    Claim. As for `Uniform`. The half that an unflagged publication leaves is not used at all. With
    all flags set, this is budget distribution. A flag says that ticks are correlated. It improves
    accuracy, not privacy: under correlation, what it adds to the budget adds to what an adversary
    learns.

    Parameters: those of `Strategy`, and `flags`, a provider from `operators.wevent.flags`. Input,
    release and errors: as for `Strategy`. State: also `shares`, and what the provider remembers.

    >>> from fugu.operators.trial import released
    >>> from fugu.operators.wevent.flags import Schedule
    >>> pba = PrivacyBudgetAllocation(2, 2, 1.0, 1, flags=Schedule((False, True)))
    >>> ticks = released(pba, [[500, 0], [500, 99], [500, 198], [500, 297]])
    >>> [tick.annotations["publication_epsilon"].tolist() for tick in ticks]
    [[0.125], [0.125], [0.09375], [0.15625]]

    Source: PBA specification, section 2; Hemkumar 2021, chapter 5, corrected.
    """

    flags: Flags = NEVER

    kind: ClassVar[str] = "pba"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.PrivacyBudgetAllocation
    claim: ClassVar[str] = (
        "a window spends less than epsilon: half of it on decisions, and on publications one or, "
        "where flagged, two quarters of what their shares have left of the other half"
    )
    proof: ClassVar[str] = "PBA specification, section 2 (theorem)"

    def start(self, rows: int) -> State:
        return {**super().start(rows), **self.flags.start(rows, self.bins)}

    def _flags(self, state: State) -> allocation.Booleans:
        return self.flags.now(state)

    def _learn(self, state: State, rows: Integers, noisy: Integers) -> tuple[Integers, State]:
        return noisy, self.flags.after(state, rows, noisy)

    def _not_covered(self) -> tuple[Point, ...]:
        return (_FLAGS,)

    def _identity(self) -> bytes:
        return self.flags.identity()
