"""Merge partial sums: release every tick once all source partitions have closed it.

A change of policies is the mechanism's to apply, at the next tick that is released; where policies
change while a pipeline runs, ticks wait until all changes before them are known (`coverage`). The
merge is a function of the log's prefix alone: which partition wrote first never shows. A partition
that falls silent holds everybody up, because whether it is still writing is nothing that the log
says.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.stages.coverage import Coverage
from fugu.dataflows.stages.log_entries import (
    Asking,
    Entry,
    MechanismPlan,
    PartitionsMoved,
    PoliciesCovered,
    PolicyChange,
)
from fugu.dataflows.stages.open_ticks import OpenTicks
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.stages.progress import Progress
from fugu.dataflows.state.row_block import column_bytes, described, read, written
from fugu.operators.ldp_ids.reporting import CollectingMechanism
from fugu.operators.mechanism import (
    ChangeableMechanism,
    Inputs,
    Integers,
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

    `pending` are changes of policies that the next tick is the first to know of, and `read` is the
    offset behind the last of them in their topic. `clocks` are those that policies went by: when
    the clocks of zones change. `partitions` says how many there are since some were added; None as
    long as there were none. `asked` is the last tick whose users were asked, and `planned` the one
    at which the last plan was made. What `encoded` gives has neither the sums, which have a log of
    their own, nor how many entries the log has `repeated` since the start.
    """

    mechanism: State
    progress: Progress = field(default_factory=Progress)
    open: OpenTicks = field(default_factory=OpenTicks)
    pending: list[bytes] = field(default_factory=list)
    read: int = 0
    coverage: Coverage = field(default_factory=Coverage)
    clocks: dict[str, Any] = field(default_factory=dict)
    partitions: int | None = None
    asked: int | None = None
    planned: int | None = None
    repeated: int = 0

    def encoded(self, sums: str = "") -> bytes:
        """Return a block; `sums` says where the sums are."""
        header = {
            "columns": described(self.mechanism),
            "sums": sums,
            "pending": [len(change) for change in self.pending],
            "read": self.read,
            "coverage": self.coverage.plain(),
            "clocks": self.clocks,
            **({} if self.partitions is None else {"partitions": self.partitions}),
            **({} if self.asked is None else {"asked": self.asked}),
            **({} if self.planned is None else {"planned": self.planned}),
            **self.progress.plain(),
        }
        return written(header, [*column_bytes(self.mechanism), *self.pending])


@dataclass(frozen=True)
class Merging:
    """Merge all partitions of the topic identified by `source`, in one row of the mechanism.

    There are so many `partitions` until the log says that there are more.

    An audit runs the same merge many times at once: a row for each of `streams`, whose draws have
    nothing to do with each other.
    """

    mechanism: Mechanism
    scope: DrawScope
    source: str
    partitions: int
    groups: int
    streams: Sequence[bytes] = (SCHEDULE,)
    waits: bool = False
    """Say whether ticks wait until the topic of policies is known to cover them."""

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
        progress, sums = Progress.of(header), load(header["sums"])
        partitions = header.get("partitions")
        complete = progress.complete(partitions or self.partitions)
        for tick in sums.ticks:
            if complete is not None and tick <= complete:
                sums.join(tick, self.groups)
        return MergeState(
            mechanism,
            progress,
            sums,
            body.take_each(header["pending"]),
            header["read"],
            Coverage.of(header["coverage"]),
            header["clocks"],
            partitions,
            header.get("asked"),
            header.get("planned"),
        )

    def __call__(
        self, state: MergeState, entry: Entry, offset: int = 0
    ) -> Iterator[tuple[int, Releases]]:
        """Yield ticks that may be released now, in order, and what is released for them.

        The entry is the next one of the log, at `offset`, which matters where ticks wait for it to
        be covered.
        """
        match entry:
            case PolicyChange():
                self._remember(state, entry)
            case PoliciesCovered():
                state.coverage.cover(entry.offset)
            case PartialSums():
                self._take(state, entry, offset)
            case MechanismPlan():
                self._take_plan(state, entry)
            case PartitionsMoved():
                self._move(state, entry)
            case Asking():
                self._require_own(state, entry)
        progress = state.progress
        while (tick := progress.next_of(self.partitions_of(state))) is not None:
            if self.waits and not state.coverage.allows(tick):
                return
            yield tick, self._release(state, tick)
            progress.following = tick + 1

    def partitions_of(self, state: MergeState) -> int:
        """Return how many partitions have to tell a tick before it is released."""
        return state.partitions or self.partitions

    def asking(self, state: MergeState) -> Asking | None:
        """Return what the users of the next tick are asked, once for each tick, if they are.

        The first tick is known when every partition has told one. It changes, with the same
        question, where all partitions skip it.
        """
        following = state.progress.following
        if state.progress.complete(self.partitions_of(state)) is None or following is None:
            return None
        if following == state.asked or (asking := self._question(state, following)) is None:
            return None
        state.asked = following
        return asking

    def _question(self, state: MergeState, tick: int) -> Asking | None:
        if not isinstance(self.mechanism, CollectingMechanism):
            return None
        instruction = self.mechanism.instruction(state.mechanism)
        return None if instruction is None else Asking(tick, instruction)

    def _require_own(self, state: MergeState, asking: Asking) -> None:
        """Raise `FuguError` where the log asks something that this merge does not ask.

        It asks about the next tick alone, which follows from the entries before. So an entry of its
        own is never early, not even where a restart reads entries again.
        """
        following = state.progress.following
        early = following is None or asking.tick > following
        if early or (asking.tick == following and asking != self._question(state, asking.tick)):
            raise FuguError(
                f"the internal log asks the users of tick {asking.tick} something that this "
                "pipeline does not ask; something else writes to its internal log. Users report "
                "within their budgets all the same. Nothing more was released."
            )

    def plan(self, state: MergeState, told: MechanismPlan | None = None) -> MechanismPlan | None:
        """Return a plan for the next ticks, if the mechanism makes plans, and neither has one nor
        has it in the one that will be `told`.

        Changes that are pending end a plan: it is made when they have been told.
        """
        mechanism, following = self.mechanism, state.progress.following
        if following is None or state.pending or not isinstance(mechanism, PlanningMechanism):
            return None
        ahead = mechanism.elapse(state.mechanism, self._all_at(following))
        if told is not None:
            ahead = mechanism.after_plan(ahead, told.content)
        plan = mechanism.plan(ahead)
        return None if plan is None else MechanismPlan(plan, following)

    def plan_at_once(self, state: MergeState) -> None:
        """Take in a plan for the next ticks, where there is no log that it goes through."""
        if (plan := self.plan(state)) is not None:
            self._take_plan(state, plan)

    def with_plan(self, state: MergeState, entry: Entry) -> Iterator[tuple[int, Releases]]:
        """Yield what an entry releases, and then take in a plan for the next ticks."""
        yield from self(state, entry)
        self.plan_at_once(state)

    def _take_plan(self, state: MergeState, plan: MechanismPlan) -> None:
        assert isinstance(self.mechanism, PlanningMechanism)
        if state.planned is not None and plan.tick <= state.planned:
            state.repeated += 1
            return
        state.planned = plan.tick
        state.mechanism = self.mechanism.after_plan(state.mechanism, plan.content)

    def _remember(self, state: MergeState, change: PolicyChange) -> None:
        """Keep a change for the next tick, unless the log has it twice.

        Two copies stand there if a request of a process that died arrived after its successor had
        looked.
        """
        if change.offset is not None:
            if change.offset < state.read or change.after > state.read:
                state.repeated += 1
                return
            state.read = change.offset + 1
        state.pending.append(change.content)

    def _take(self, state: MergeState, partial: PartialSums, offset: int) -> None:
        """Keep partial sums, unless they were told before."""
        progress = state.progress
        if not progress.told(partial.partition, partial.tick, partial.skipped):
            state.repeated += 1
            return
        state.open.add(partial)
        complete = progress.complete(self.partitions_of(state))
        if self.waits and complete is not None:
            state.coverage.complete(complete, offset)
            if partial.tick <= complete:
                state.open.join(partial.tick, self.groups)

    def _move(self, state: MergeState, moved: PartitionsMoved) -> None:
        """Wait from here on for added partitions, too: up to this tick they have nothing to tell.

        The log may have this twice, because who writes it may be cut short, or somebody copied it.
        """
        if moved.partitions < self.partitions_of(state):
            return
        before, state.partitions = self.partitions_of(state), moved.partitions
        if moved.last is not None:
            for partition in range(before, moved.partitions):
                state.progress.join(partition, moved.last)

    def bring_to(self, state: MergeState, tick: int) -> None:
        """Bring the mechanism to the next tick that is released, and tell it what is pending.

        Changes are told at a tick that is released indeed, in the order of the log: also those that
        came before the first one, or in a time without ticks.
        """
        if isinstance(self.mechanism, TimedMechanism):
            state.mechanism = self.mechanism.elapse(state.mechanism, self._all_at(tick))
        for change in state.pending:
            self._tell(state, change)
        state.pending = []

    def _tell(self, state: MergeState, change: bytes) -> None:
        """Tell the mechanism of a change; nobody waits for one that is refused."""
        assert isinstance(self.mechanism, ChangeableMechanism)
        try:
            log.info("policies: %s", self.mechanism.explained(state.mechanism, change))
        except ValueError as error:
            log.warning("a change of policies was refused: %s", error)
        state.mechanism = self.mechanism.after_change(state.mechanism, change)

    def _release(self, state: MergeState, tick: int) -> Releases:
        rows = len(self.streams)
        truth = np.tile(state.open.release(tick, self.groups), (rows, 1))
        draws = self.scope.draws(self.streams, [tick_position(self.source, tick)] * rows)
        self.bring_to(state, tick)
        state.mechanism, releases = self.mechanism.step(state.mechanism, Inputs(truth), draws)
        return releases

    def _all_at(self, tick: int) -> Integers:
        return np.full(len(self.streams), tick)
