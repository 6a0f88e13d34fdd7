"""The bytewax source: one shared reader per process, one part per Kafka partition.

The resume state of a part is the offset after the last batch it emitted.
"""

from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition

from dataflows.batches import Batch
from dataflows.errors import StartRefused
from dataflows.kafka.client import Reader

_IDLE = timedelta(milliseconds=20)


@dataclass
class StopFlag:
    """Set by a signal; sources then end, final snapshots are written and the process exits."""

    requested: bool = False

    def request(self) -> None:
        """Ask every source to end."""
        self.requested = True


@dataclass
class SharedReader:
    """Deals what one poll returns out to the parts, and buffers at most about one poll."""

    reader: Reader
    max_batch: int
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
        return buffer.popleft() if buffer else None

    def _buffered(self) -> int:
        return sum(len(batch.offsets) for buffer in self._buffers.values() for batch in buffer)


class KafkaSource(FixedPartitionedSource[Batch, int]):
    """All partitions of the source topic. `begin` holds the offsets to start from without a
    snapshot: their first ones when the pipeline was created."""

    def __init__(
        self, topic: str, begin: list[int], reader: Reader, max_batch: int, stop: StopFlag
    ) -> None:
        self._topic = topic
        self._begin = begin
        self._reader = reader
        self._shared = SharedReader(reader, max_batch)
        self._stop = stop

    def list_parts(self) -> list[str]:
        """Zero-padded partition numbers, so that their order is numeric."""
        return part_names(len(self._begin))

    def build_part(
        self, step_id: str, for_part: str, resume_state: int | None
    ) -> "KafkaSourcePart":
        """Resume one partition, or begin where the pipeline began."""
        partition = int(for_part)
        bounds = self._reader.bounds([partition])[partition]
        offset = self._begin[partition] if resume_state is None else resume_state
        if not bounds.start <= offset <= bounds.end:
            raise StartRefused(
                f"topic {self._topic}, partition {partition}: the next record to read has offset "
                f"{offset}, but the topic now holds offsets {bounds.start} to {bounds.end}. "
                "Retention removed records that this state goes on with, or the topic was "
                "truncated. "
                "Restore them, or start a new pipeline with a new name, state directory and sink "
                "topic."
            )
        self._shared.add(partition, offset)
        return KafkaSourcePart(self._shared, partition, offset, self._stop)


class KafkaSourcePart(StatefulSourcePartition[Batch, int]):
    """One partition of the source topic."""

    def __init__(self, shared: SharedReader, partition: int, offset: int, stop: StopFlag) -> None:
        self._shared = shared
        self._partition = partition
        self._offset = offset
        self._stop = stop
        self._idle = False

    def next_batch(self) -> list[Batch]:
        """At most one batch; ends when a stop was requested."""
        if self._stop.requested:
            raise StopIteration
        batch = self._shared.next_batch(self._partition)
        self._idle = batch is None
        if batch is None:
            return []
        self._offset = batch.offsets[-1] + 1
        return [batch]

    def next_awake(self) -> datetime | None:
        """Soon after an empty poll, at once otherwise."""
        return datetime.now(UTC) + _IDLE if self._idle else None

    def snapshot(self) -> int:
        """The offset of the next record to emit."""
        return self._offset


def part_names(partitions: int) -> list[str]:
    """Names of the parts of a topic, for sources and sinks alike."""
    return [f"{partition:06d}" for partition in range(partitions)]
