"""Pass over batches that are not unpacked: no batch stops a source, and none is lost silently.

Its records are given as `Unread`, some at a time: a small batch may hold millions of records, and
each of them becomes a dead letter.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence

from fugu.dataflows.base.batches import Batch, Unread
from fugu.dataflows.kafka.client import Bounds, Reader
from fugu.dataflows.kafka.failures import NotUnpacked, scan

log = logging.getLogger(__name__)


class PassingReader(Reader):
    """Read a source through another reader, which it closes."""

    def __init__(self, topic: str, reader: Reader) -> None:
        self._topic, self._reader = topic, reader
        self._passing: NotUnpacked | None = None
        self._next = 0

    def assign(self, offsets: Mapping[int, int], epochs: Mapping[int, int] | None = None) -> None:
        self._passing = None
        self._reader.assign(offsets, epochs)

    def poll(self, max_records: int) -> list[Batch]:
        if self._passing is None:
            try:
                return self._reader.poll(max_records)
            except NotUnpacked as found:
                self._pass_over(found)
        return self._passed(max_records)

    def pass_over(self, partition: int, offset: int) -> None:
        self._reader.pass_over(partition, offset)

    def bounds(self, partitions: list[int]) -> dict[int, Bounds]:
        return self._reader.bounds(partitions)

    def bounds_now(self, partitions: Sequence[int], seconds: float) -> dict[int, Bounds | str]:
        return self._reader.bounds_now(partitions, seconds)

    def position(self, partition: int) -> int | None:
        """Return the next offset, which is not behind what is being passed over."""
        if self._passing is not None and partition == self._passing.partition:
            return self._next
        return self._reader.position(partition)

    def epoch(self, partition: int) -> int | None:
        """Return the leader epoch of the last record; None while records are passed over."""
        passing = self._passing is not None and partition == self._passing.partition
        return None if passing else self._reader.epoch(partition)

    def read_range(self, partition: int, start: int, end: int) -> Iterator[Batch]:
        self.assign({partition: start})
        return scan(self._topic, partition, end, self.poll, lambda: self.position(partition) or 0)

    def close(self) -> None:
        self._reader.close()

    def _pass_over(self, found: NotUnpacked) -> None:
        log.error(
            "%s. Its records become dead letters (too_large), and reading goes on behind them.",
            found,
            extra={"topic": self._topic, "partition": found.partition, "offset": found.offsets[0]},
        )
        self._reader.pass_over(found.partition, found.offsets.stop)
        self._passing, self._next = found, found.offsets.start

    def _passed(self, max_records: int) -> list[Batch]:
        """Return the next records of the batch that is passed over."""
        passing = self._passing
        assert passing is not None
        some = range(self._next, min(self._next + max_records, passing.offsets.stop))
        self._next = some.stop
        if self._next == passing.offsets.stop:
            self._passing = None
        return [Unread.between(passing.partition, some, passing.timestamp)]
