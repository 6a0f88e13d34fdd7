"""One reader for all parts of a source: what one poll returns is dealt out to them."""

from collections import deque
from dataclasses import dataclass, field

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.kafka.client import Reader


@dataclass
class SharedReader:
    """Deals what one poll returns out to the parts, and buffers at most about one poll."""

    reader: Reader
    max_batch: int
    is_behind: bool = True
    """Whether more than a little had arrived when it was looked at last."""
    _offsets: dict[int, int] = field(default_factory=dict)
    _buffers: dict[int, deque[Batch]] = field(default_factory=dict)
    _assigned: bool = False

    def add(self, partition: int, offset: int) -> None:
        """Take part of the assignment; every part does so before the first one reads."""
        self._offsets[partition] = offset
        self._buffers[partition] = deque()

    def next_batch(self, partition: int) -> Batch | None:
        """The next batch of one partition, if it is there."""
        if not self._assigned:
            self.reader.assign(self._offsets)
            self._assigned = True
        buffer = self._buffers[partition]
        if not buffer and self._buffered() < self.max_batch:
            for batch in self.reader.poll(self.max_batch):
                self._buffers[batch.partition].append(batch)
            self.is_behind = self._buffered() >= self.max_batch // 4
        return buffer.popleft() if buffer else None

    def next_offset(self, partition: int) -> int | None:
        """Return where reading continues: past control records, before what is buffered."""
        buffer = self._buffers[partition]
        return buffer[0].offsets[0] if buffer else self.reader.position(partition)

    def _buffered(self) -> int:
        return sum(len(batch.offsets) for buffer in self._buffers.values() for batch in buffer)
