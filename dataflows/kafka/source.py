"""The bytewax source: one shared reader per process, one part per Kafka partition.

The resume state of a part is the offset after the last batch it emitted.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import NEW_PIPELINE, StartRefused
from fugu.dataflows.base.metrics import RECORDS_IN, SNAPSHOT_AGE, Metrics
from fugu.dataflows.kafka.client import Reader
from fugu.dataflows.kafka.shared_reader import SharedReader

_IDLE = timedelta(milliseconds=20)


@dataclass
class StopFlag:
    """Set by a signal; sources then end, final snapshots are written and the process exits."""

    requested: bool = False

    def request(self) -> None:
        """Ask every source to end."""
        self.requested = True


class KafkaSource(FixedPartitionedSource[Batch, int]):
    """Read some partitions of the source topic.

    `begin` holds the offsets to start from without a snapshot: their first ones when the pipeline
    was created. `positions` holds the next offset of each partition.
    """

    def __init__(
        self,
        topic: str,
        begin: dict[int, int],
        reader: Reader,
        max_batch: int,
        stop: StopFlag,
        metrics: Metrics,
    ) -> None:
        self.positions: dict[int, int] = {}
        self.waiting: set[int] = set()
        self._topic = topic
        self._begin = begin
        self._reader = reader
        self._shared = SharedReader(reader, max_batch)
        self._stop = stop
        self._metrics = metrics

    def list_parts(self) -> list[str]:
        """Zero-padded partition numbers, so that their order is numeric."""
        return part_names(self._begin)

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
                f"truncated. Restore them, or {NEW_PIPELINE}."
            )
        self._shared.add(partition, offset)
        self.positions[partition] = offset
        if offset < bounds.end:
            self.waiting.add(partition)
        self._metrics.positions[partition] = offset
        self._metrics.put(SNAPSHOT_AGE, time.monotonic(), self._topic, partition)
        return KafkaSourcePart(
            self._shared, self._topic, partition, self.positions, self._stop, self._metrics
        )


class KafkaSourcePart(StatefulSourcePartition[Batch, int]):
    """Read one partition of the source topic."""

    def __init__(
        self,
        shared: SharedReader,
        topic: str,
        partition: int,
        positions: dict[int, int],
        stop: StopFlag,
        metrics: Metrics,
    ) -> None:
        self._shared = shared
        self._topic = topic
        self._partition = partition
        self._positions = positions
        self._stop = stop
        self._metrics = metrics
        self._idle = False

    def next_batch(self) -> list[Batch]:
        """Return at most one batch; end when a stop was requested."""
        if self._stop.requested:
            raise StopIteration
        batch = self._shared.next_batch(self._partition)
        self._idle = batch is None or not self._shared.is_behind
        if batch is None:
            return []
        end = batch.offsets[-1] + 1
        self._positions[self._partition] = self._metrics.positions[self._partition] = end
        self._metrics.add(RECORDS_IN, len(batch.offsets), self._topic, self._partition)
        return [batch]

    def next_awake(self) -> datetime | None:
        """Ask for more at once while there is much to read, else some times a second.

        A batch of a few records costs as much as one of hundreds.
        """
        return datetime.now(UTC) + _IDLE if self._idle else None

    def snapshot(self) -> int:
        """The offset of the next record to emit."""
        self._metrics.put(SNAPSHOT_AGE, time.monotonic(), self._topic, self._partition)
        following = self._shared.next_offset(self._partition)
        if following is not None:
            self._metrics.positions[self._partition] = following
        return self._positions[self._partition]


def part_names(partitions: Iterable[int]) -> list[str]:
    """Names of the parts of a topic, for sources and sinks alike, in numeric order."""
    return [part_name(partition) for partition in sorted(partitions)]


def part_name(partition: int) -> str:
    """The name of one part."""
    return f"{partition:06d}"
