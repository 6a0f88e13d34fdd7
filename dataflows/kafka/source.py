"""Read from Kafka with bytewax: one shared reader per process, one part per partition.

The resume state of a part is the offset after the last batch it emitted.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import NEW_PIPELINE, StartRefused
from fugu.dataflows.base.metrics import RECORDS_IN, RELEASE_SECONDS, SNAPSHOT_AGE, Metrics
from fugu.dataflows.kafka.client import Bounds, Reader

Polled = list[tuple[float, int]]
"""Moments of polls, and numbers of records."""


@dataclass
class ReleaseTimes:
    """Hold when records of each partition were polled, of this epoch and of the one that ends.

    Releases are safe when Kafka has acknowledged those of an epoch and its state is durable. Only
    clocks of this process count: how long a mechanism holds a value back in event time never shows.

    An epoch in which nothing came to the sink is forgotten.
    """

    topic: str
    metrics: Metrics
    clock: Callable[[], float] = time.monotonic
    _now: dict[int, Polled] = field(default_factory=dict, init=False)
    _ending: dict[int, Polled] = field(default_factory=dict, init=False)

    def read(self, partition: int, polled_at: float, records: int) -> None:
        """Note records that are handed on."""
        self._now.setdefault(partition, []).append((polled_at, records))

    def end_epoch(self, partition: int) -> None:
        """Note that what was read until now belongs to the epoch that ends."""
        self._ending[partition] = self._now.pop(partition, [])

    def acknowledged(self, partition: int) -> None:
        """Count what was read in the epoch that ends."""
        moment = self.clock()
        for polled_at, records in self._ending.pop(partition, []):
            seconds = moment - polled_at
            self.metrics.observe(RELEASE_SECONDS, seconds, records, self.topic, partition)


log = logging.getLogger(__name__)

_SHORTEST_PAUSE, _LONGEST_PAUSE = timedelta(milliseconds=2), timedelta(milliseconds=20)
_SHARE_OF_SILENCE = 0.1
"""A reader that found nothing for long is looked at less often: after a tenth of that time."""


@dataclass
class StopFlag:
    """Tell sources to end; final snapshots are then written and the process exits."""

    requested: bool = False

    def request(self) -> None:
        """Ask every source to end."""
        self.requested = True


@dataclass
class SharedReader:
    """Deal what one poll returns out to the parts, and buffer at most about one poll."""

    reader: Reader
    max_batch: int
    is_behind: bool = True
    """True if the last poll left much to read."""
    next_look: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When to poll again if it did not."""
    _arrived: datetime = field(default_factory=lambda: datetime.now(UTC))
    _offsets: dict[int, int] = field(default_factory=dict)
    _buffers: dict[int, deque[Batch]] = field(default_factory=dict)
    _polled: dict[int, deque[float]] = field(default_factory=dict)
    _assigned: bool = False

    def add(self, partition: int, offset: int) -> None:
        """Take part of the assignment; every part does so before the first one reads."""
        self._offsets[partition] = offset
        self._buffers[partition] = deque()
        self._polled[partition] = deque([0.0])

    def next_batch(self, partition: int) -> Batch | None:
        """Return the next batch of one partition, if it is there."""
        if not self._assigned:
            self.reader.assign(self._offsets)
            self._assigned = True
        buffer = self._buffers[partition]
        if not buffer and self._buffered() < self.max_batch and self._may_look():
            batches = self.reader.poll(self.max_batch)
            moment = time.monotonic()
            for batch in batches:
                self._buffers[batch.partition].append(batch)
                self._polled[batch.partition].append(moment)
            self.is_behind = self._buffered() >= self.max_batch // 4
            self._pause(bool(batches))
        if not buffer:
            return None
        self._polled[partition].popleft()
        return buffer.popleft()

    def polled_at(self, partition: int) -> float:
        """Return the moment of the poll that brought the last batch of a partition."""
        return self._polled[partition][0]

    def next_offset(self, partition: int) -> int | None:
        """Return where reading continues: past control records, before what is buffered."""
        buffer = self._buffers[partition]
        return buffer[0].offsets[0] if buffer else self.reader.position(partition)

    def pause_of(self, partition: int, *, found: bool) -> datetime | None:
        """Return when to ask for the next batch of a partition; None is at once.

        `found` says whether there was one the last time.
        """
        more = self.is_behind or self._buffers[partition]
        return None if found and more else self.next_look

    def _may_look(self) -> bool:
        return self.is_behind or datetime.now(UTC) >= self.next_look

    def _pause(self, arrived: bool) -> None:
        """Say when to look again: soon, but seldom while nothing comes."""
        now = datetime.now(UTC)
        if arrived:
            self._arrived = now
        pause = (now - self._arrived) * _SHARE_OF_SILENCE
        self.next_look = now + min(max(_SHORTEST_PAUSE, pause), _LONGEST_PAUSE)

    def _buffered(self) -> int:
        return sum(len(batch.offsets) for buffer in self._buffers.values() for batch in buffer)


def require_source_offset(topic: str, partition: int, offset: int, bounds: Bounds) -> None:
    """Raise `StartRefused` where records that a state goes on with are gone."""
    if not bounds.start <= offset <= bounds.end:
        raise StartRefused(
            f"topic {topic}, partition {partition}: the next record to read has offset "
            f"{offset}, but the topic now holds offsets {bounds.start} to {bounds.end}. "
            "Retention removed records that this state goes on with, or the topic was "
            "truncated. Restore them. If retention removed them, fugu migrate PIPELINE PIPELINE "
            f"--accept-gap {topic}:{partition} passes them over, with all budgets. Otherwise "
            f"{NEW_PIPELINE}."
        )


def say_what_is_unread(topic: str, partition: int, offset: int, bounds: Bounds) -> None:
    """Warn of records behind the last one that was read, where nothing more is read."""
    if offset < bounds.end:
        log.warning(
            "topic %s, partition %d: up to %d records from offset %d on stay unread",
            topic,
            partition,
            bounds.end - offset,
            offset,
            extra={"topic": topic, "partition": partition, "offset": offset},
        )


@dataclass(eq=False)
class KafkaSource(FixedPartitionedSource[Batch, int]):
    """Read some partitions of the source topic.

    `begin` holds the offsets to start from without a snapshot: their first ones when the pipeline
    was created. `resumed` holds those where reading began, `positions` the next offset of each
    partition, and `waiting` the partitions
    that had records to read at the start. `require_held` raises if another process has taken over,
    and `require_same` if topics have become other ones while this process stood still.
    """

    topic: str
    begin: dict[int, int]
    reader: Reader
    max_batch: int
    stop: StopFlag
    metrics: Metrics
    require_held: Callable[[], None] = field(default_factory=lambda: lambda: None, init=False)
    require_same: Callable[[], None] = field(default_factory=lambda: lambda: None, init=False)
    is_ready: Callable[[Batch], bool] = field(default_factory=lambda: lambda _: True, init=False)
    """Says whether a batch can be read at once; its partition waits where it cannot."""
    positions: dict[int, int] = field(default_factory=dict, init=False)
    resumed: dict[int, int] = field(default_factory=dict, init=False)
    waiting: set[int] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self.shared = SharedReader(self.reader, self.max_batch)
        self.times = ReleaseTimes(self.topic, self.metrics)

    def list_parts(self) -> list[str]:
        """Return the names of the parts, in numeric order."""
        return part_names(self.begin)

    def build_part(
        self, step_id: str, for_part: str, resume_state: int | None
    ) -> "KafkaSourcePart":
        """Resume one partition, or begin where the pipeline began."""
        partition = int(for_part)
        bounds = self.reader.bounds([partition])[partition]
        offset = self.begin[partition] if resume_state is None else resume_state
        require_source_offset(self.topic, partition, offset, bounds)
        self.shared.add(partition, offset)
        self.positions[partition] = self.resumed[partition] = offset
        if offset < bounds.end:
            self.waiting.add(partition)
        if self.stop.requested:  # by --finish
            say_what_is_unread(self.topic, partition, offset, bounds)
        self.metrics.standing.positions[self.topic, partition] = offset
        self.metrics.put(SNAPSHOT_AGE, time.monotonic(), self.topic, partition)
        return KafkaSourcePart(self, partition)


@dataclass(eq=False)
class KafkaSourcePart(StatefulSourcePartition[Batch, int]):
    """Read one partition of the source topic."""

    source: KafkaSource
    partition: int
    _emitted: int = field(init=False)
    """The offset behind everything that was emitted."""
    _found: bool = field(default=True, init=False)
    _held: Batch | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._emitted = self.source.positions[self.partition]

    def next_batch(self) -> list[Batch]:
        """Return at most one batch; end when a stop was requested."""
        if self.source.stop.requested:
            raise StopIteration
        self.source.require_same()
        batch = self._held or self.source.shared.next_batch(self.partition)
        self._found = batch is not None
        if batch is None:
            return []
        if not self.source.is_ready(batch):
            self._held = batch
            return []
        self._held = None
        end = batch.offsets[-1] + 1
        self.source.positions[self.partition] = self._emitted = end
        self._stand_at(end)
        self.source.metrics.add(RECORDS_IN, len(batch.offsets), self.source.topic, self.partition)
        polled_at = self.source.shared.polled_at(self.partition)
        self.source.times.read(self.partition, polled_at, len(batch.offsets))
        return [batch]

    def next_awake(self) -> datetime | None:
        """Ask for more at once while there is much to read, else after a pause.

        A batch of a few records costs as much as one of hundreds. All parts return the same time,
        or each of them would wake the dataflow for itself.
        """
        if self._held is not None:
            return datetime.now(UTC) + _LONGEST_PAUSE
        return self.source.shared.pause_of(self.partition, found=self._found)

    def snapshot(self) -> int:
        """Return the offset of the next record to emit, if nobody else goes on with the state.

        Sinks ask too, later in an epoch, but only where something was written. It is behind marks
        of transactions: once retention has removed them, they would seem to be lost records.
        """
        self.source.times.end_epoch(self.partition)
        self.source.require_held()
        self.source.metrics.put(SNAPSHOT_AGE, time.monotonic(), self.source.topic, self.partition)
        following = self.source.shared.next_offset(self.partition)
        if following is not None and self._held is None:
            self._stand_at(following)
            self._pass_marks(following)
        return self.source.positions[self.partition]

    def _pass_marks(self, following: int) -> None:
        """Go on where reading does, if the state has everything that was emitted."""
        if self.source.positions[self.partition] == self._emitted < following:
            self.source.positions[self.partition] = self._emitted = following

    def _stand_at(self, offset: int) -> None:
        standing = self.source.metrics.standing
        standing.positions[self.source.topic, self.partition] = offset


def part_names(partitions: Iterable[int]) -> list[str]:
    """Return the names of parts, of sources and sinks alike; their order is numeric."""
    return [part_name(partition) for partition in sorted(partitions)]


def part_name(partition: int) -> str:
    """Return the name of one part."""
    return f"{partition:06d}"


_PAUSE = timedelta(milliseconds=5)


@dataclass(eq=False)
class GatedSource(KafkaSource):
    """Resume where records are not in the state, `taken_in`, and not behind those that were read.

    `waits` says whether a partition holds records back.
    """

    waits: Callable[[int], bool]
    taken_in: dict[int, int]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.positions = self.taken_in

    def build_part(
        self, step_id: str, for_part: str, resume_state: int | None
    ) -> "GatedSourcePart":
        """Resume one partition."""
        part = super().build_part(step_id, for_part, resume_state)
        return GatedSourcePart(part.source, part.partition, self)


@dataclass(eq=False)
class GatedSourcePart(KafkaSourcePart):
    """Read one partition, unless it waits."""

    gated: GatedSource

    def next_batch(self) -> list[Batch]:
        """Return at most one batch, and none while earlier ones are held back."""
        if self.gated.waits(self.partition) and not self.source.stop.requested:
            return []
        taken_in, partition = self.gated.taken_in, self.partition
        before = taken_in[partition]
        batches = super().next_batch()
        taken_in[partition] = before
        return batches

    def next_awake(self) -> datetime | None:
        """Look again soon whether the partition still waits."""
        if self.gated.waits(self.partition):
            return datetime.now(UTC) + _PAUSE
        return super().next_awake()
