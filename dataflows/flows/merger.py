"""Merge entries of the internal log into the state of a merge, wherever that is kept."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from fugu.dataflows.base.errors import without_values
from fugu.dataflows.base.metrics import Standing, Told
from fugu.dataflows.flows.policy_wait import PolicyWait
from fugu.dataflows.policies.changes import Clocks
from fugu.dataflows.stages.log_entries import Asking, Entry, MechanismPlan
from fugu.dataflows.stages.merging import MergeState, Merging
from fugu.operators.mechanism import ChangeableMechanism, Releases, State

Show = Callable[[State], None]
"""Shows numbers of a mechanism that has this state."""
TickReleases = Sequence[tuple[int, Releases]]
"""Ticks, and what is released for each."""
_BETWEEN_PLANS = 10
"""Ticks, and twice as many each time when plans come late or policies change all the time."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Merged:
    """Hold what a batch of the log releases, and a plan that is to be told."""

    ticks: TickReleases
    plan: MechanismPlan | None = None
    asking: Sequence[Asking] = ()


@dataclass
class Plans:
    """Make plans for a merge, which come back by the log; the last one is on its way or there."""

    merge: Merging
    last: MechanismPlan | None = field(default=None, init=False)
    _tick: int = field(default=0, init=False)
    _pause: int = field(default=_BETWEEN_PLANS, init=False)

    def next(self, state: MergeState) -> MechanismPlan | None:
        """Return a plan if one is needed, none was made for it, and the last is not too new."""
        tick = state.progress.following
        if tick is None or (self.last is not None and tick - self._tick < self._pause):
            return None
        plan = self.merge.plan(state, self.last)
        if plan is not None:
            often = self.last is not None and tick - self._tick < 2 * self._pause
            self._pause = 2 * self._pause if often else _BETWEEN_PLANS
            self.last, self._tick = plan, tick
        return plan


class Merger:
    """Merge into one state, and show how far it is."""

    def __init__(
        self,
        merge: Merging,
        topic: str,
        state: MergeState,
        wait: PolicyWait | None = None,
        clocks: Clocks | None = None,
        show: Show | None = None,
        standing: Standing | None = None,
        left: Show | None = None,
        repeated: Callable[[int], None] | None = None,
    ) -> None:
        self._merge, self._repeated = merge, repeated
        self._wait, self._show, self._standing, self._left = wait, show, standing, left
        self._topic = topic
        self.state = state
        if clocks is not None:
            self._go_on_by(clocks)
        self._plans = Plans(merge)
        self.show()

    def __call__(self, entries: Iterable[tuple[int, Entry]]) -> Merged:
        """Take entries in, in the order of the log."""
        with without_values("merge", self._topic, 0, []):
            released, asking = list[tuple[int, Releases]](), list[Asking]()
            before = self.state.repeated
            for offset, one in entries:
                released += self._merge(self.state, one, offset)
                if (asked := self._merge.asking(self.state)) is not None:
                    asking.append(asked)
            plan = self._plans.next(self.state)
        if self._repeated is not None and self.state.repeated > before:
            self._repeated(self.state.repeated - before)
        self.show()
        if released and self._show is not None:
            self._show(self.state.mechanism)
        return Merged(released, plan, asking)

    def _go_on_by(self, clocks: Clocks) -> None:
        mechanism = self._merge.mechanism
        assert isinstance(mechanism, ChangeableMechanism)
        clocks.require_settled(self.state.clocks, mechanism.settled(self.state.mechanism))
        self.state.clocks = clocks.transitions

    def show(self) -> None:
        """Show how far the merge is, and what it waits for."""
        if self._wait is not None:
            self._wait.note(self.state.coverage)
        if self._standing is not None:
            last = dict(self.state.progress.last)
            self._standing.told = Told(self._merge.partitions_of(self.state), last)
        if self._left is not None:
            self._left(self.state.mechanism)
