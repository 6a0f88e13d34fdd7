"""Ticks of event time over streams: all of them in a partition go on when a tick closes.

Records only say what a stream holds in a tick. What a record does depends on the records before it
in its partition, never on how they were cut into batches.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dataflows.admission import Admission
from dataflows.batches import Decoded, Reason, Sanitized
from dataflows.state.row_table import RowTable
from dataflows.tick_releases import TEMPORAL, TickReleases, sanitized_ticks
from dataflows.ticks import TIME, Ticks
from operators.mechanism import ExhaustibleMechanism, Integers, Mechanism, Releases
from operators.randomness import DrawScope

_AHEAD = 1_000
"""How many records are looked at together."""


@dataclass(frozen=True)
class TickStage(ABC):
    """One mechanism over the streams of one partition of the topic identified by `source`.

    Rows have columns `present (rows, open ticks)`, where a record has said something, and
    `running`: whether the stream goes on without one.
    """

    mechanism: Mechanism
    scope: DrawScope
    source: str
    admission: Admission
    ticks: Ticks

    said: ClassVar[tuple[str, ...]] = TEMPORAL
    """The annotations that are published with releases."""

    @property
    def ends(self) -> ExhaustibleMechanism | None:
        """No row comes to an end."""
        return None

    def __call__(self, decoded: Decoded, table: RowTable) -> Sanitized:
        """Note what records say, and release whatever ticks they close."""
        released: list[TickReleases] = []
        values, index = decoded.values.tolist(), 0
        times, known = np.array(decoded.timestamps, dtype=np.int64), np.ones(len(values), bool)
        known[table.unknown(decoded.keys)] = False
        while index < len(values):
            ahead = slice(index, index + _AHEAD)
            if quiet := self._quiet(table, times[ahead], known[ahead]):
                self._note_together(decoded, slice(index, index + quiet), table)
                index += quiet
                continue
            key, time = decoded.keys[index], decoded.timestamps[index]
            reason = self.ticks.refusal(table.clock, time)
            if reason is None and not known[index]:
                reason = self._refused(table, decoded, key)
            if reason is None:
                released += self._close(table, self.ticks.passed(table.clock, time))
                reason = self._note(table, key, self.ticks.of(time), values[index])
            if reason is not None:
                decoded.dead.add(decoded.offsets[index], time, reason)
            index += 1
        return sanitized_ticks(decoded.partition, released, decoded.dead, self.said)

    def _quiet(self, table: RowTable, times: Integers, known: NDArray[np.bool_]) -> int:
        """How many of these records are of known keys, in time, and close no tick; time goes on."""
        if TIME not in table.clock:
            return 0
        first, before = self.ticks.quiet(table.clock)
        outside = ~known | (times < first) | (times >= before)
        quiet = int(np.argmax(outside)) if outside.any() else len(times)
        if quiet:
            table.clock[TIME] = max(table.clock[TIME], int(times[:quiet].max()))
        return quiet

    def _note_together(self, decoded: Decoded, some: slice, table: RowTable) -> None:
        """What streams hold in ticks that are open, by records that follow each other."""
        columns = decoded.keys[some], decoded.timestamps[some], decoded.values[some].tolist()
        for index, (key, time, value) in enumerate(zip(*columns, strict=True), some.start):
            reason = self._note(table, key, self.ticks.of(time), value)
            if reason is not None:
                decoded.dead.add(decoded.offsets[index], time, reason)

    @abstractmethod
    def _note(self, table: RowTable, key: bytes, tick: int, value: object) -> Reason | None:
        """What the stream holds in a tick that is open."""

    @abstractmethod
    def _step(self, table: RowTable, rows: Integers, tick: int) -> TickReleases:
        """A tick that is closed now."""

    def _refused(self, table: RowTable, decoded: Decoded, key: bytes) -> Reason | None:
        return self.admission.refusals(table, decoded.partition, [key]).get(0)

    def _close(self, table: RowTable, ticks: range) -> list[TickReleases]:
        closed = []
        for tick in ticks:
            present = table.live("present")[:, tick % self.ticks.open]
            rows = np.flatnonzero(table.live("running") | present)
            if len(rows):
                closed.append(self._step(table, rows, tick))
        return closed

    def _released(self, tick: int, keys: list[bytes], releases: Releases) -> TickReleases:
        return TickReleases(keys, [tick] * len(keys), [self.ticks.end(tick)] * len(keys), releases)
