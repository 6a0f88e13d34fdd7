"""Ticks of event time over streams: all of them in a partition go on when a tick closes.

Records only say what a stream holds in a tick. What a record does depends on the records before it
in its partition, never on how they were cut into batches.
"""

import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import DeadLetters, Decoded, Reason, Sanitized
from fugu.dataflows.base.ticks import CLOSED, NO_TICK, Ticks
from fugu.dataflows.stages.admission import Admission
from fugu.dataflows.stages.passage import Passage, Records, Stretch
from fugu.dataflows.stages.tick_releases import TEMPORAL, TickReleases, sanitized_ticks
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import (
    Array,
    ExhaustibleMechanism,
    Integers,
    Mechanism,
    Releases,
    State,
)
from fugu.operators.randomness import DrawScope

log = logging.getLogger(__name__)

_TOO_FAR = Reason.TOO_FAR_AHEAD


@dataclass(frozen=True)
class TickStage(ABC):
    """One mechanism over the streams of one partition of the topic identified by `source`.

    Rows have columns `values` and `present (rows, open ticks + 1)`, what a record has said, and
    `running`: whether the stream goes on without one. The last place belongs to a tick that stream
    time has not come to, which is `ahead`.
    """

    mechanism: Mechanism
    scope: DrawScope
    source: str
    admission: Admission
    ticks: Ticks

    said: ClassVar[tuple[str, ...]] = TEMPORAL
    """The annotations that are published with releases."""
    nothing: ClassVar[object]
    """What `values` are where a row has said nothing."""

    @property
    def ends(self) -> ExhaustibleMechanism | None:
        """No row comes to an end."""
        return None

    def __call__(self, decoded: Decoded, table: RowTable) -> Sanitized:
        """Note what records say, and release whatever ticks they close."""
        released: list[TickReleases] = []
        records = Records.of(decoded, self.ticks.time.heartbeats)
        dead = records.without_heartbeats(decoded.dead)
        for stretch in Passage(self.ticks, table.clock, records).stretches():
            released += self._close(decoded.partition, table, stretch.passed.closed)
            if stretch.passed.skipped:
                self._forget(decoded.partition, table)
            self._take_in(decoded, records, stretch, table, dead)
        return sanitized_ticks(decoded.partition, released, dead, self.said)

    def _take_in(
        self,
        decoded: Decoded,
        records: Records,
        stretch: Stretch,
        table: RowTable,
        dead: DeadLetters,
    ) -> None:
        """Give those rows whose records are in time, and note what these say."""
        present = records.in_time(self.ticks, table.clock, stretch, dead)
        if not len(present):
            return
        keys = records.keys_of(present)
        refused = self.admission.refusals(table, decoded.partition, keys)
        present = records.without(present, refused, dead)
        rows = table.rows_of(records.keys_of(present) if refused else keys)
        ticks = records.times[present] // self.ticks.width
        has_place = self._ahead(table, rows, ticks)
        records.without(present, dict.fromkeys(np.flatnonzero(~has_place).tolist(), _TOO_FAR), dead)
        said = np.flatnonzero((records.values[present] >= 0) & has_place)
        index, rows = present[said], rows[said]
        values = decoded.values[records.values[index]]
        for place, reason in self._note(table, rows, ticks[said], values).items():
            records.refuse(int(index[place]), reason, dead)

    def _ahead(self, table: RowTable, rows: Integers, ticks: Integers) -> NDArray[np.bool_]:
        """Give every stream that is ahead its one place, for the tick of its first such record,
        whatever that holds; return which records have a place."""
        ahead, has_place = table.live("ahead"), np.ones(len(rows), dtype=bool)
        for number in np.flatnonzero(ticks > table.clock[CLOSED] + self.ticks.open).tolist():
            row, tick = int(rows[number]), int(ticks[number])
            if ahead[row] == NO_TICK:
                ahead[row] = tick
                table.touch(row)
            has_place[number] = ahead[row] == tick
        return has_place

    def _note(
        self, table: RowTable, rows: Integers, ticks: Integers, values: Array
    ) -> dict[int, Reason]:
        """What streams hold in ticks, by records that follow each other; those that are refused."""
        refused: dict[int, Reason] = {}
        one_by_one = np.arange(len(rows))
        if self.ticks.several == "last":
            open_now = ticks <= table.clock[CLOSED] + self.ticks.open
            some, cells = rows[open_now], ticks[open_now] % self.ticks.open
            table.live("values")[some, cells] = values[open_now]
            table.live("present")[some, cells] = True
            one_by_one = np.flatnonzero(~open_now)
        for place in one_by_one.tolist():
            row, value = int(rows[place]), values[place : place + 1].tolist()[0]
            is_open = ticks[place] <= table.clock[CLOSED] + self.ticks.open
            cell = int(ticks[place]) % self.ticks.open if is_open else self.ticks.open
            reason = self._hold(table, row, cell, value)
            if reason is not None:
                refused[place] = reason
        table.touch(rows)
        return refused

    @abstractmethod
    def _hold(self, table: RowTable, row: int, cell: int, value: object) -> Reason | None:
        """Hold a value in the tick of this place, or return why not."""

    @abstractmethod
    def _step(self, partition: int, table: RowTable, rows: Integers, tick: int) -> TickReleases:
        """A tick that is closed now."""

    def _close(self, partition: int, table: RowTable, ticks: range) -> list[TickReleases]:
        closed = []
        for tick in ticks:
            present = table.live("present")[:, tick % self.ticks.open]
            rows = np.flatnonzero(table.live("running") | present)
            if len(rows):
                closed.append(self._step(partition, table, rows, tick))
            self._come_to(table, tick + self.ticks.open)
        return closed

    def _come_to(self, table: RowTable, tick: int) -> None:
        """What streams that are ahead hold in this tick gets the place of the one just closed."""
        ahead, before, after = table.live("ahead"), self.ticks.open, tick % self.ticks.open
        rows = np.flatnonzero(ahead == tick)
        if len(rows):
            for name in ("values", "present"):
                column = table.live(name)
                column[rows, after] = column[rows, before]
                column[rows, before] = self.nothing if name == "values" else False
            ahead[rows] = NO_TICK
            table.touch(rows)

    def _forget(self, partition: int, table: RowTable) -> None:
        """Drop what streams hold in ticks that are skipped, or beyond the end: further ahead than
        `max_jump` allows now, or than a pipeline that is finished closes."""
        held = table.live("present").any(axis=1) | (table.live("ahead") != NO_TICK)
        rows = np.flatnonzero(held)
        if not len(rows):
            return
        log.info("partition %d: streams held values in ticks that do not come", partition)
        table.live("values")[rows] = self.nothing
        table.live("present")[rows] = False
        table.live("ahead")[rows] = NO_TICK
        table.touch(rows)

    def _released(self, tick: int, keys: list[bytes], releases: Releases) -> TickReleases:
        return TickReleases(keys, [tick] * len(keys), [self.ticks.end(tick)] * len(keys), releases)


def places(ticks: Ticks, rows: int) -> State:
    """Columns of what fresh rows have said, but for `values`."""
    return {
        "present": np.zeros((rows, ticks.open + 1), dtype=bool),
        "ahead": np.full(rows, NO_TICK),
        "running": np.zeros(rows, dtype=bool),
        "quiet": np.zeros(rows, dtype=np.int64),
    }
