"""Merge partial sums: release every tick once all source partitions have closed it."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

import numpy as np

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.stages.bounding import Partial, Told
from fugu.dataflows.stages.log_entries import (
    Asking,
    Coverage,
    Entry,
    MechanismPlan,
    PartialSums,
    PartitionsMoved,
    PoliciesCovered,
    PolicyChange,
)
from fugu.dataflows.state.row_block import Body, column_bytes, described, read, written
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

_EVER = -(2**62)


@dataclass
class Progress:
    """Hold how far all partitions have told their ticks.

    Ticks are released in order once every partition has told them. A partition that has not begun
    when another one has counts as empty until its first tick. None is left out but those that every
    partition skipped: nothing can be in them, wherever.

    `last`: up to which tick every partition that has begun has told all; `beyond`: ticks that it
    has told further on, and the first of those that each stands for; `skipped`: partition, first
    and last of ticks that were skipped; `following`: the tick to be released next.
    """

    last: dict[int, int] = field(default_factory=dict)
    beyond: dict[tuple[int, int], int] = field(default_factory=dict)
    skipped: list[tuple[int, int, int]] = field(default_factory=list)
    following: int | None = None

    def knows(self, partition: int, tick: int) -> bool:
        """Return whether a partition told a tick before."""
        return (partition, tick) in self.beyond or tick <= self.last.get(partition, tick - 1)

    def told(self, partition: int, tick: int, skipped: int) -> bool:
        """Take in that a partition told a tick, and skipped some before; return whether that is
        new."""
        last, first = self.last, tick - skipped
        if self.knows(partition, tick):
            return False
        if partition not in last:
            self.following = first if self.following is None else min(self.following, first)
            last[partition] = first - 1
            self.skipped.append((partition, _EVER, first - 1))
        if skipped:
            self.skipped.append((partition, first, tick - 1))
        self.beyond[partition, tick] = first
        starts = {start: end for (whose, end), start in self.beyond.items() if whose == partition}
        while (end := starts.get(last[partition] + 1)) is not None:
            last[partition] = end
            del self.beyond[partition, end]
        return True

    def join(self, partition: int, tick: int) -> None:
        """Take in a partition that was added, and that has nothing to tell up to this tick."""
        if partition not in self.last:
            self.last[partition] = tick
            self.skipped.append((partition, _EVER, tick))

    def complete(self, partitions: int) -> int | None:
        """Return the last tick up to which each of these partitions has told all."""
        return min(self.last.values()) if len(self.last) == partitions else None

    def next_of(self, partitions: int) -> int | None:
        """Return the tick that each of these partitions has told, and not every one has skipped."""
        complete = self.complete(partitions)
        if complete is None or self.following is None:
            return None
        while True:
            ends = [end for _, first, end in self.skipped if first <= self.following <= end]
            if len(ends) < partitions:
                break
            self.following = min(ends) + 1
        self.skipped = [one for one in self.skipped if one[2] >= self.following]
        return self.following if self.following <= complete else None

    def plain(self) -> dict[str, Any]:
        """Return it as a header holds it."""
        return {
            "last": sorted(self.last.items()),
            "beyond": sorted([*place, first] for place, first in self.beyond.items()),
            "skipped": sorted(self.skipped),
            "following": self.following,
        }

    @classmethod
    def of(cls, header: dict[str, Any]) -> "Progress":
        """Return what `plain` gave."""
        return cls(
            dict(header["last"]),
            {(partition, tick): first for partition, tick, first in header["beyond"]},
            [(partition, first, last) for partition, first, last in header["skipped"]],
            header["following"],
        )


class OpenParts(Generic[Told]):
    """Keep parts by tick; those of ticks that were released are gone.

    Parts are kept as they came and written to a log of their own: each once, and not again with
    every snapshot while a partition is silent.
    """

    def __init__(self, read_part: Callable[[dict[str, Any], Body], Told]) -> None:
        self._read_part = read_part
        self._parts: dict[int, list[Told]] = defaultdict(list)
        self._added: list[Told] = []
        self._released: list[int] = []

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def ticks(self) -> list[int]:
        """Return the ticks that something is kept about."""
        return list(self._parts)

    def keep(self, part: Told) -> None:
        """Keep a part until its tick is released."""
        self._parts[part.tick].append(part)
        self._added.append(part)

    def of(self, tick: int) -> list[Told]:
        """Return all that there is about a tick."""
        return self._parts.get(tick, [])

    def take(self, tick: int) -> list[Told]:
        """Return all that there is about a tick, which is not kept any longer."""
        self._released.append(tick)
        return self._parts.pop(tick, [])

    def take_changes(self) -> bytes:
        """Return a block with what was added and is still there, and what is gone, since the last
        one."""
        added = [part for part in self._added if part.tick in self._parts]
        block = _block(added, self._released)
        self._added, self._released = [], []
        return block

    def take_everything(self) -> bytes:
        """Return a block that makes all of it when applied to nothing."""
        self._added, self._released = [], []
        return _block((one for tick in sorted(self._parts) for one in self._parts[tick]), [])

    def apply(self, block: bytes) -> None:
        """Apply the next block; `StartRefused` if it is damaged."""
        header, body = read(block)
        for tick in header["released"]:
            self._parts.pop(tick, None)
        for content in body.take_each(header["added"]):
            part = self._read_part(*read(content))
            self._parts[part.tick].append(part)


def _block(added: Iterable[Partial], released: list[int]) -> bytes:
    parts = [part.encoded() for part in added]
    return written({"added": [len(part) for part in parts], "released": released}, parts)


class OpenTicks(OpenParts[PartialSums]):
    """Keep partial sums by tick.

    Those of a tick that is complete and waits are kept as one.
    """

    def __init__(self) -> None:
        super().__init__(PartialSums.of)

    def add(self, partial: PartialSums) -> None:
        """Keep it, unless nobody contributed."""
        if len(partial.groups):
            self.keep(partial)

    def join(self, tick: int, groups: int) -> None:
        """Keep one sum of all that there is about a tick: nothing more comes."""
        if len(parts := self.of(tick)) > 1:
            total = _total(parts, groups)
            some = np.flatnonzero(total)
            self._parts[tick] = [PartialSums(0, tick, some, total[some])]

    def release(self, tick: int, groups: int) -> Integers:
        """Return the sum of all that there is about a tick, which is not kept any longer."""
        return _total(self.take(tick), groups)


def _total(parts: list[PartialSums], groups: int) -> Integers:
    total = np.zeros(groups, dtype=np.int64)
    for partial in parts:
        total[partial.groups] += partial.sums
    return total


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

    A change of policies is the mechanism's to apply, at the next tick that is released; where
    policies change while a pipeline runs, ticks wait until all changes before them are known
    (`Coverage`). The merge is a function of the log's prefix alone: which partition wrote first
    never shows. A partition that falls silent holds everybody up, because whether it is still
    writing is nothing that the log says.

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
