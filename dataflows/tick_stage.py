"""Ticks of event time over streams: all of them in a partition go on when a tick closes.

Records only say what a stream holds in a tick. What a record does depends on the records before it
in its partition, never on how they were cut into batches.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dataflows.admission import Admission
from dataflows.batches import Decoded, Reason, Sanitized
from dataflows.state.row_table import RowTable
from dataflows.tick_releases import TEMPORAL, TickReleases, sanitized_ticks
from dataflows.ticks import Ticks
from operators.mechanism import ExhaustibleMechanism, Integers, Mechanism, Releases
from operators.randomness import DrawScope


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
        new = set(table.unknown(decoded.keys))
        records = zip(decoded.keys, decoded.timestamps, decoded.values.tolist(), strict=True)
        for index, (key, time, value) in enumerate(records):
            reason = self.ticks.refusal(table.clock, time)
            if reason is None and index in new:
                reason = self._refused(table, decoded, key)
            if reason is None:
                released += self._close(table, self.ticks.passed(table.clock, time))
                reason = self._note(table, key, self.ticks.of(time), value)
            if reason is not None:
                decoded.dead.add(decoded.offsets[index], time, reason)
        return sanitized_ticks(decoded.partition, released, decoded.dead, self.said)

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
