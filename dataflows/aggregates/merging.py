"""Merge partial sums: release every tick once all source partitions have closed it. A change of
policies is the mechanism's to apply.

A pure function of the log's prefix: which partition wrote first never shows. Ticks are released in
order and none is left out. A partition that has not begun when another one has counts as empty
until its first tick; one that falls silent holds everybody up, because whether it is still writing
is nothing that the log says.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dataflows.aggregates.log_entries import Entry, PolicyChange
from dataflows.aggregates.partials import Partial
from dataflows.state.row_block import column_bytes, described, read, written
from operators.mechanism import (
    ChangeableMechanism,
    Inputs,
    Integers,
    Mechanism,
    Releases,
    State,
    TimedMechanism,
)
from operators.randomness import DrawScope, tick_position

log = logging.getLogger(__name__)

_SCHEDULE = b"schedule"
"""One budget for all groups, so that it does not matter how users move between them."""


@dataclass
class MergeState:
    """Up to which tick every partition that has begun has told all; ticks that it has told beyond;
    the tick to be released next; and sums of ticks that are not complete, where there are any."""

    mechanism: State
    last: dict[int, int] = field(default_factory=dict)
    beyond: set[tuple[int, int]] = field(default_factory=set)
    following: int | None = None
    open: dict[int, Integers] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """A block."""
        ticks = sorted(self.open)
        header = {
            "columns": described(self.mechanism),
            "last": sorted(self.last.items()),
            "beyond": sorted(self.beyond),
            "following": self.following,
            "open": ticks,
        }
        sums = [self.open[tick].astype("<i8").tobytes() for tick in ticks]
        return written(header, [*column_bytes(self.mechanism), *sums])


@dataclass(frozen=True)
class Merge:
    """All partitions of the source topic identified by `source`, one row of the mechanism."""

    mechanism: Mechanism
    scope: DrawScope
    source: str
    partitions: int
    groups: int

    def start(self) -> MergeState:
        """Nothing has been reported yet."""
        return MergeState(self.mechanism.start(1))

    def restored(self, content: bytes) -> MergeState:
        """What `MergeState.encoded` gave."""
        header, body = read(content)
        fresh = self.mechanism.start(1)
        like = {name: fresh[name] for name in header["columns"]}
        mechanism = body.take_columns(like, 1)
        sums = {tick: body.take(self.groups, "<i8").astype(np.int64) for tick in header["open"]}
        beyond = {(partition, tick) for partition, tick in header["beyond"]}
        return MergeState(mechanism, dict(header["last"]), beyond, header["following"], sums)

    def __call__(self, state: MergeState, entry: Entry) -> Iterator[tuple[int, Releases]]:
        """Ticks that are complete now, in order, and what is released for them."""
        if isinstance(entry, PolicyChange):
            self._change(state, entry)
        else:
            yield from self._completed(state, entry)

    def _change(self, state: MergeState, change: PolicyChange) -> None:
        """One that cannot be applied changes nothing: it stays in the log, and nobody waits."""
        assert isinstance(self.mechanism, ChangeableMechanism)
        try:
            told = self.mechanism.explained(state.mechanism, change.content)
            state.mechanism = self.mechanism.after_change(state.mechanism, change.content)
        except ValueError as error:
            log.warning("a change of policies was refused: %s", error)
        else:
            log.info("policies: %s", told)

    def _completed(self, state: MergeState, partial: Partial) -> Iterator[tuple[int, Releases]]:
        partition, tick, last = partial.partition, partial.tick, state.last
        if (partition, tick) in state.beyond or tick <= last.get(partition, tick - 1):
            return
        if partition not in last:
            state.following = tick if state.following is None else min(state.following, tick)
            last[partition] = tick - 1
        state.beyond.add((partition, tick))
        while (partition, last[partition] + 1) in state.beyond:
            last[partition] += 1
            state.beyond.remove((partition, last[partition]))
        if len(partial.groups):
            sums = state.open.setdefault(tick, np.zeros(self.groups, dtype=np.int64))
            sums[partial.groups] += partial.sums
        if len(last) < self.partitions:
            return
        assert state.following is not None
        while state.following <= min(last.values()):
            yield state.following, self._release(state, state.following)
            state.following += 1

    def _release(self, state: MergeState, tick: int) -> Releases:
        nobody = np.zeros(self.groups, dtype=np.int64)
        truth = state.open.pop(tick, nobody)
        draws = self.scope.draws([_SCHEDULE], [tick_position(self.source, tick)])
        before = state.mechanism
        if isinstance(self.mechanism, TimedMechanism):
            before = self.mechanism.elapse(before, np.array([tick]))
        state.mechanism, releases = self.mechanism.step(before, Inputs(truth[None, :]), draws)
        return releases
