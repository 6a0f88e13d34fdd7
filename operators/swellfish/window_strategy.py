"""The step of strategies that spread epsilon over windows: the TS baselines."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from fugu.operators.byte_fields import encode_fields
from fugu.operators.mechanism import State
from fugu.operators.swellfish.relevance import Relevance
from fugu.operators.swellfish.strategy import PolicyStrategy
from fugu.operators.wevent.allocation import Offer, Rule
from fugu.operators.wevent.limits import LARGEST_WINDOW, require_size

_PREFIX = "rule_"
_COVERED = "covered"


@dataclass(frozen=True, eq=False)
class WindowStrategy(PolicyStrategy[State]):
    """Spread epsilon over windows, with noise for the sensitivity of each tick.

    Claim. Swellfish privacy, as for `PolicyStrategy`. A window bounds what an interval spends only
    if it is as long: while a longer one is open, nothing is published, so that the claim holds
    whatever policies people add.

    A baseline that knows how much policies hide in a tick, and not for how long. It spreads budgets
    over windows of a fixed number of ticks, as `operators.wevent.allocation` does, and draws noise
    for the sensitivity of the tick instead of that of a whole contribution. A tick of sensitivity 0
    takes its place in the window and is charged nothing. With `irrelevant: exact` it is published
    as it is, as the paper has it; with `repeat` it repeats what is older than it could be, and the
    strategy is worse than it would be in the paper, but says nothing about such ticks. A first
    release is not decided upon.

    Parameters: those of `PolicyStrategy`, and `window` in ticks, as many as the longest relevance
    interval has. Input, release and errors: as for `PolicyStrategy`. State: the columns of the
    rule, too, whose ticks count positions. Source: Swellfish specification, section 6 (TS
    variants).
    """

    window: int
    rule: Rule = field(init=False, repr=False)

    rule_class: ClassVar[type[Rule]]
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 and 6 (Theorem 4.3)"

    def __post_init__(self) -> None:
        require_size("window", self.window, LARGEST_WINDOW)
        super().__post_init__()
        object.__setattr__(self, "rule", self.rule_class(self.window, self.units))

    @property
    def decides(self) -> bool:
        return self.rule_class.decides

    @property
    def _parts(self) -> int:
        return 2 * self.window

    def start(self, rows: int) -> State:
        return {**super().start(rows), **_prefixed(self.rule.start(rows))}

    def _open(self, state: State, relevances: list[Relevance]) -> State:
        columns = {
            name.removeprefix(_PREFIX): column
            for name, column in state.items()
            if name.startswith(_PREFIX)
        }
        covered = [
            all(one.end - one.start < self.window for one in relevance.intervals)
            for relevance in relevances
        ]
        return {**columns, _COVERED: np.array(covered, dtype=np.bool_)}

    def _offer(self, state: State, opened: State) -> Offer:
        offer = self.rule.offer(opened, np.zeros(len(state["tick"]), dtype=np.bool_))
        return Offer(offer.decision, np.where(opened[_COVERED], offer.publication, 0), offer.share)

    def _settle(self, state: State, opened: State, charged: Offer) -> State:
        return _prefixed(self.rule.settle(opened, charged, charged.publication > 0))

    @property
    def _longest(self) -> int:
        return min(self.window, super()._longest)

    def audit(self) -> Mapping[str, object]:
        return {
            **super().audit(),
            "longest relevance interval in which anything is published, in ticks": self.window,
        }

    def _identity(self) -> bytes:
        return encode_fields(self.window)


def _prefixed(columns: State) -> State:
    return {_PREFIX + name: column for name, column in columns.items()}
