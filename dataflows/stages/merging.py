"""Merge partial sums: release every tick once all source partitions have closed it.

A change of policies is the mechanism's to apply. The merge is a function of the log's prefix alone:
which partition wrote first never shows. A partition that falls silent holds everybody up, because
whether it is still writing is nothing that the log says.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from fugu.dataflows.stages.former_merge import former_progress, former_state, former_sums, is_former
from fugu.dataflows.stages.log_entries import Entry, MechanismPlan, PolicyChange
from fugu.dataflows.stages.open_ticks import OpenTicks
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.stages.progress import Progress
from fugu.dataflows.state.row_block import column_bytes, described, read, written
from fugu.operators.mechanism import (
    ChangeableMechanism,
    Inputs,
    Mechanism,
    PlanningMechanism,
    Releases,
    State,
    TimedMechanism,
)
from fugu.operators.randomness import DrawScope, tick_position

log = logging.getLogger(__name__)

SCHEDULE = b"schedule"
"""One budget for all groups, so that it does not matter how users move between them."""


@dataclass
class MergeState:
    """Hold what the mechanism knows, how far partitions are, and sums of open ticks.

    The sums are not in what `encoded` gives: they have a log of their own.
    """

    mechanism: State
    progress: Progress = field(default_factory=Progress)
    open: OpenTicks = field(default_factory=OpenTicks)

    def encoded(self, sums: str = "") -> bytes:
        """Return a block; `sums` says where the sums are."""
        header = {"columns": described(self.mechanism), "sums": sums, **self.progress.plain()}
        return written(header, column_bytes(self.mechanism))


@dataclass(frozen=True)
class Merging:
    """Merge all partitions of the topic identified by `source`, in one row of the mechanism.

    An audit runs the same merge many times at once: a row for each of `streams`, whose draws have
    nothing to do with each other.
    """

    mechanism: Mechanism
    scope: DrawScope
    source: str
    partitions: int
    groups: int
    streams: Sequence[bytes] = (SCHEDULE,)

    def start(self) -> MergeState:
        """Return the state in which nothing has been reported yet."""
        return MergeState(self.mechanism.start(len(self.streams)))

    def restored(self, content: bytes, load: Callable[[str], OpenTicks]) -> MergeState:
        """Return what `MergeState.encoded` gave; `load` gives the sums at their place."""
        header, body = read(content)
        rows = len(self.streams)
        fresh = self.mechanism.start(rows)
        like = {name: fresh[name] for name in header["columns"]}
        mechanism = body.take_columns(like, rows)
        if is_former(header):
            sums = former_sums(header, body, self.groups)
            return MergeState(
                former_state(self.mechanism, mechanism), former_progress(header), sums
            )
        return MergeState(mechanism, Progress.of(header), load(header["sums"]))

    def __call__(self, state: MergeState, entry: Entry) -> Iterator[tuple[int, Releases]]:
        """Yield ticks that are complete now, in order, and what is released for them."""
        if isinstance(entry, PolicyChange):
            self._change(state, entry)
        elif isinstance(entry, MechanismPlan):
            self._take_plan(state, entry)
        else:
            yield from self._completed(state, entry)

    def _change(self, state: MergeState, change: PolicyChange) -> None:
        """Apply a change; one that cannot be applied stays in the log, and nobody waits."""
        assert isinstance(self.mechanism, ChangeableMechanism)
        try:
            told = self.mechanism.explained(state.mechanism, change.content)
            state.mechanism = self.mechanism.after_change(state.mechanism, change.content)
        except ValueError as error:
            log.warning("a change of policies was refused: %s", error)
        else:
            log.info("policies: %s", told)

    def plan(self, state: MergeState) -> MechanismPlan | None:
        """Return a plan for the next ticks, if the mechanism makes plans and has none."""
        following = state.progress.following
        if following is None or not isinstance(self.mechanism, PlanningMechanism):
            return None
        plan = self.mechanism.plan(self._at(state, following))
        return None if plan is None else MechanismPlan(plan)

    def with_plan(self, state: MergeState, entry: Entry) -> Iterator[tuple[int, Releases]]:
        """Yield what is released, and then take in a plan for the next ticks at once, where there
        is no log that it goes through."""
        yield from self(state, entry)
        if (plan := self.plan(state)) is not None:
            self._take_plan(state, plan)

    def _take_plan(self, state: MergeState, plan: MechanismPlan) -> None:
        assert isinstance(self.mechanism, PlanningMechanism)
        state.mechanism = self.mechanism.after_plan(state.mechanism, plan.content)

    def _completed(self, state: MergeState, partial: PartialSums) -> Iterator[tuple[int, Releases]]:
        progress = state.progress
        if not progress.told(partial.partition, partial.tick, partial.skipped):
            return
        state.open.add(partial)
        while (tick := progress.next_of(self.partitions)) is not None:
            yield tick, self._release(state, tick)
            progress.following = tick + 1

    def _release(self, state: MergeState, tick: int) -> Releases:
        rows = len(self.streams)
        truth = np.tile(state.open.release(tick, self.groups), (rows, 1))
        draws = self.scope.draws(self.streams, [tick_position(self.source, tick)] * rows)
        before = self._at(state, tick)
        state.mechanism, releases = self.mechanism.step(before, Inputs(truth), draws)
        return releases

    def _at(self, state: MergeState, tick: int) -> State:
        """Return the state of the mechanism, brought to a tick."""
        if not isinstance(self.mechanism, TimedMechanism):
            return state.mechanism
        return self.mechanism.elapse(state.mechanism, np.full(len(self.streams), tick))
