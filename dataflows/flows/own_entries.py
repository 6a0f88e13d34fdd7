"""Take the own entries of a batch of the internal log, and say where something else has written."""

import logging
from dataclasses import dataclass

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.metrics import FOREIGN_WRITES, Metrics
from fugu.dataflows.flows.log_seal import LogSeal
from fugu.dataflows.stages.log_entries import Entry, read_entry

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class OwnEntries:
    """Read the entries of the internal log, which is a topic, that bear the own `seal`; those of
    others count for nothing.

    `FuguError` where an own entry cannot be read.
    """

    topic: str
    seal: LogSeal
    metrics: Metrics
    only: bytes | None = None
    """The key of the entries that are looked at, if that is not all."""

    def __call__(self, batch: Batch) -> list[tuple[int, Entry]]:
        """Return the own entries of a batch, and their offsets."""
        own, foreign = list[tuple[int, Entry]](), list[int]()
        for offset, timestamp, key, value, headers in batch.records():
            if self.only is not None and key != self.only:
                continue
            if self.seal.is_on(key, value, headers, timestamp):
                place = f"topic {self.topic}, partition 0, offset {offset}"
                own.append((offset, read_entry(value, place)))
            else:
                foreign.append(offset)
        if foreign:
            self._say(foreign)
        return own

    def _say(self, foreign: list[int]) -> None:
        """Warn of the first such record, the tenth, the hundredth, and so on."""
        if count := _counted(self.metrics, self.topic, len(foreign)):
            _log.warning(
                "topic %s, partition 0, offset %d: something else writes to sink.partials, %d "
                "records since the start. They do not count. If it is another pipeline, give it a "
                "topic of its own; let the user of this pipeline alone write here",
                self.topic,
                foreign[0],
                count,
                extra={"topic": self.topic, "partition": 0, "offset": foreign[0]},
            )


def say_repeated(metrics: Metrics, topic: str, repeated: int) -> None:
    """Warn of entries that are in the log once more; each counts once."""
    if count := _counted(metrics, topic, repeated):
        _log.warning(
            "topic %s, partition 0: something else writes copies of entries to sink.partials, or a "
            "request of a process that died came late; %d records since the start that do not "
            "count. Let the user of this pipeline alone write here",
            topic,
            count,
            extra={"topic": topic, "partition": 0},
        )


def _counted(metrics: Metrics, topic: str, more: int) -> int | None:
    """Count records that are passed over; return how many there are since the start, where that is
    to be said: at the first, the tenth, the hundredth, and so on."""
    before = int(metrics.values(FOREIGN_WRITES).get((topic, "0"), 0))
    metrics.add(FOREIGN_WRITES, more, topic, 0)
    count = before + more
    return count if before == 0 or len(str(before)) < len(str(count)) else None
