"""Release streams tick by tick: all in a partition go on when a tick of event time closes."""

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import DTypeLike

from fugu.dataflows.base.batches import DeadLetters, Reason, Sanitized
from fugu.dataflows.base.ticks import CLOSED, NO_TICK, Passed, Ticks
from fugu.dataflows.stages.bounding import Arrivals, claim
from fugu.dataflows.stages.stage import StreamStage
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import ByteColumn, IntegerColumn, column_of, selected, taken
from fugu.operators.mechanism import Array, Integers, Kind, Mechanism, Releases, State
from fugu.operators.randomness import tick_position


@dataclass(frozen=True)
class TickReleases:
    """Hold what streams released, each at a tick, with the timestamp that it is published with."""

    keys: ByteColumn
    ticks: Sequence[int]
    timestamps: Sequence[int]
    releases: Releases

    def published(self) -> "TickReleases":
        """Return them without the releases that are suppressed."""
        releases = self.releases
        if releases.kinds is None:
            return self
        index = np.flatnonzero(releases.kinds != Kind.SUPPRESSED)
        if len(index) == len(releases.kinds):
            return self
        return TickReleases(
            self.keys.taken(index),
            selected(self.ticks, index),
            selected(self.timestamps, index),
            Releases(
                releases.values[index],
                taken(releases.annotations, index),
                releases.kinds[index],
            ),
        )


TEMPORAL: tuple[str, ...] = ("tick", "epoch", "phase")
"""The annotations that are published with releases which are displaced in time."""
CONFIDENCE: tuple[str, ...] = ("confidence",)
"""Those of a batch that is released before it is full."""


def sanitized_ticks(
    partition: int,
    released: Sequence[TickReleases],
    dead: DeadLetters,
    said: Sequence[str] = TEMPORAL,
) -> Sanitized:
    """Return everything that is published, in order, with these annotations; streams without epochs
    are in epoch 0 for ever."""
    parts = [part.published() for part in released]
    notes = {
        name: _joined([part.releases.annotations[name] for part in parts], np.int64)
        for name in said
    }
    keys = ByteColumn.chained([part.keys for part in parts])
    return Sanitized(
        partition,
        _chained([part.ticks for part in parts]),
        _chained([part.timestamps for part in parts]),
        keys,
        Releases(_joined([part.releases.values for part in parts], object), notes, _kinds(parts)),
        dead.in_order(),
        epochs=IntegerColumn(notes.get("epoch", np.zeros(len(keys), dtype=np.int64))),
    )


def _kinds(parts: Sequence[TickReleases]) -> Integers | None:
    """Return what each release is, if all parts say so."""
    kinds = [part.releases.kinds for part in parts if part.releases.kinds is not None]
    return np.concatenate(kinds) if parts and len(kinds) == len(parts) else None


def _chained(parts: Sequence[Sequence[int]]) -> IntegerColumn:
    return IntegerColumn(_joined(list(map(column_of, parts)), np.int64))


def _joined(parts: Sequence[Array], dtype: DTypeLike) -> Array:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PerTick(Arrivals[TickReleases, Sanitized], StreamStage):
    """Note what records of streams say, and release whatever ticks they close.

    A row has columns `values` and `present (rows, open ticks + 1)`, what a record has said, and
    `running`: whether the stream goes on without one. The last place belongs to a tick that stream
    time has not come to, which is `ahead`.
    """

    ticks: Ticks

    in_ticks: ClassVar[bool] = True
    said: ClassVar[tuple[str, ...]] = TEMPORAL
    """The annotations that are published with releases."""
    nothing: ClassVar[object]
    """Stands in `values` where a row has said nothing."""

    @abstractmethod
    def start(self, rows: int) -> State:
        """Return the columns of fresh rows."""

    def holds(self, table: RowTable) -> bool:
        """Return whether values wait for later records to close their ticks."""
        return bool(table.live("present").any())

    def _refusals(
        self, table: RowTable, partition: int, keys: Sequence[bytes], ticks: Integers
    ) -> dict[int, Reason]:
        return self.admission.refusals(table, partition, keys)

    def _cells(self, table: RowTable, rows: Integers, ticks: Integers) -> Integers:
        held, cells = table.live("ahead"), ticks % self.ticks.open
        ahead = np.flatnonzero(ticks > table.clock[CLOSED] + self.ticks.open)
        if len(ahead):
            free = held[rows[ahead]] == NO_TICK
            table.touch(claim(held, free, rows[ahead], ticks[ahead]))
            cells[ahead] = np.where(held[rows[ahead]] == ticks[ahead], self.ticks.open, -1)
        return cells

    def _note(
        self, table: RowTable, rows: Integers, cells: Integers, times: Integers, values: Array
    ) -> Mapping[int, Reason]:
        table.touch(rows)
        held, present = table.live("values"), table.live("present")
        kept: Integers = np.arange(len(rows))
        refused: dict[int, Reason] = {}
        if self.ticks.several != "last":
            _, first = np.unique(rows * (self.ticks.open + 1) + cells, return_index=True)
            kept = first[~present[rows[first], cells[first]]]
        if self.ticks.several == "error":
            others = np.delete(np.arange(len(rows)), kept).tolist()
            refused = dict.fromkeys(others, Reason.SECOND_IN_TICK)
        held[rows[kept], cells[kept]], present[rows[kept], cells[kept]] = values[kept], True
        return refused

    def _close(self, partition: int, table: RowTable, passed: Passed) -> list[TickReleases]:
        released = []
        for tick in passed.closed:
            present = table.live("present")[:, tick % self.ticks.open]
            rows = np.flatnonzero(table.live("running") | present)
            if len(rows):
                released.append(self._release(partition, table, rows, tick))
            self._come_to(table, tick + self.ticks.open)
        if passed.skipped or passed.anew:
            self._forget(partition, table)
        return released

    def _release(self, partition: int, table: RowTable, rows: Integers, tick: int) -> TickReleases:
        """Advance streams by a tick that is closed now."""
        state, names, cell = table.gather(rows), table.keys_of(rows), tick % self.ticks.open
        values, there = state["values"][:, cell].copy(), state["present"][:, cell].copy()
        state["values"][:, cell], state["present"][:, cell] = self.nothing, False
        position = tick_position(self.source, tick, partition=partition)
        after, releases = self._step(state, values, there, names, position)
        table.scatter(rows, {**state, **after})
        return self._released(tick, names, releases)

    @abstractmethod
    def _step(
        self, state: State, values: Array, there: Array, names: ByteColumn, position: bytes
    ) -> tuple[State, Releases]:
        """Advance streams with these `values`, which are `there` or not."""

    def _come_to(self, table: RowTable, tick: int) -> None:
        """Move what streams that are ahead hold in this tick to the place of the one closed."""
        ahead, before, after = table.live("ahead"), self.ticks.open, tick % self.ticks.open
        rows = np.flatnonzero(ahead == tick)
        if len(rows):
            for name, nothing in (("values", self.nothing), ("present", False)):
                column = table.live(name)
                column[rows, after], column[rows, before] = column[rows, before], nothing
            ahead[rows] = NO_TICK
            table.touch(rows)

    def _forget(self, partition: int, table: RowTable) -> None:
        """Drop what streams hold in ticks that are skipped, or beyond the end: further ahead than
        `max_jump` allows now, or than a pipeline that is finished closes."""
        held = table.live("present").any(axis=1) | (table.live("ahead") != NO_TICK)
        rows = np.flatnonzero(held)
        if not len(rows):
            return
        log.info(
            "partition %d: %d streams held values of ticks that are skipped, or that come after "
            "the end; these values are not released",
            partition,
            len(rows),
        )
        table.live("values")[rows] = self.nothing
        table.live("present")[rows] = False
        table.live("ahead")[rows] = NO_TICK
        table.touch(rows)

    def _released(self, tick: int, names: ByteColumn, releases: Releases) -> TickReleases:
        ticks, ends = (
            IntegerColumn(np.full(len(names), number)) for number in (tick, self.ticks.end(tick))
        )
        return TickReleases(names, ticks, ends, releases)

    def _made(self, partition: int, closed: list[TickReleases], dead: DeadLetters) -> Sanitized:
        return sanitized_ticks(partition, closed, dead, self.said)


def tick_columns(mechanism: Mechanism, ticks: Ticks, nothing: object) -> Callable[[int], State]:
    """Return what makes the columns of fresh rows.

    They are the mechanism's, what a row has said in open ticks (`nothing`), and whether the stream
    goes on without a record.
    """

    def start(rows: int) -> State:
        return {
            **mechanism.start(rows),
            "values": np.full((rows, ticks.open + 1), nothing),
            "present": np.zeros((rows, ticks.open + 1), dtype=bool),
            "ahead": np.full(rows, NO_TICK),
            "running": np.zeros(rows, dtype=bool),
        }

    return start


def quiet_columns(mechanism: Mechanism, ticks: Ticks, nothing: object) -> Callable[[int], State]:
    """Return the same, with the number of ticks for which a stream has been quiet."""
    columns = tick_columns(mechanism, ticks, nothing)

    def start(rows: int) -> State:
        return {**columns(rows), "quiet": np.zeros(rows, dtype=np.int64)}

    return start
