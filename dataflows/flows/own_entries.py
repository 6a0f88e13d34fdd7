"""Take the own entries of a batch of the internal log, and say where something else has written."""

import logging
from dataclasses import dataclass

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.base.metrics import FOREIGN_WRITES, Metrics
from fugu.dataflows.flows.log_seal import OwnLog
from fugu.dataflows.stages.log_entries import Entry, read_entry

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class OwnEntries:
    """Read entries of the own `log`, which is a topic; those of others count for nothing.

    `FuguError` where an own entry cannot be read.
    """

    topic: str
    log: OwnLog
    metrics: Metrics
    only: bytes | None = None
    """The key of the entries that are looked at, if that is not all."""

    def __call__(self, batch: Batch) -> list[tuple[int, Entry]]:
        """Return the own entries of a batch, and their offsets."""
        own, foreign = list[tuple[int, Entry]](), list[int]()
        for offset, _, key, value, headers in batch.records():
            if self.only is not None and key != self.only:
                continue
            entry = None
            if self.log.may_hold(key, value, headers):
                entry = self._read(offset, value)
            if entry is not None and self.log.holds(key, headers, entry):
                own.append((offset, entry))
            else:
                foreign.append(offset)
        if foreign:
            self._say(foreign)
        return own

    def _read(self, offset: int, value: bytes | None) -> Entry | None:
        try:
            return read_entry(value, f"topic {self.topic}, partition 0, offset {offset}")
        except FuguError:
            if self.log.sealed:
                raise
            return None

    def _say(self, foreign: list[int]) -> None:
        """Warn of the first such record, the tenth, the hundredth, and so on."""
        before = self.metrics.values(FOREIGN_WRITES).get((self.topic, "0"), 0)
        self.metrics.add(FOREIGN_WRITES, len(foreign), self.topic, 0)
        count = int(before) + len(foreign)
        if before == 0 or len(str(int(before))) < len(str(count)):
            _log.warning(
                "topic %s, partition 0, offset %d: something else writes to sink.partials, %d "
                "records since the start. They do not count. If it is another pipeline, give it a "
                "topic of its own; let the user of this pipeline alone write here",
                self.topic,
                foreign[0],
                count,
                extra={"topic": self.topic, "partition": 0, "offset": foreign[0]},
            )
