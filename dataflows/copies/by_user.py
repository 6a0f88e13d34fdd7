"""Write the records of a source into an internal topic by user, each exactly once.

A record and the position behind it are committed in one transaction, as Kafka Streams does where it
repartitions. Nothing is judged here: a record without a user goes along, and what reads the
internal topic refuses it. The key of a record tells where it comes from.
"""

import logging
import time
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fugu.dataflows.base.batches import Batch, Outgoing
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.base.errors import GivenAway, ShutOut, StartRefused
from fugu.dataflows.base.metrics import Metrics
from fugu.dataflows.copies.instance import transactional_id
from fugu.dataflows.copies.intake import Intake
from fugu.dataflows.copies.settings import CopySettings
from fugu.dataflows.flows.partitions import PartitionsPlan
from fugu.dataflows.kafka.client import Bounds, CopyClient, Rebalance, identity_of
from fugu.dataflows.kafka.partitioner import partitions_of
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.origins import origin_key, origin_of
from fugu.operators.mechanism import Integers

_LONGEST_EVERY = 0.25
"""Nobody reads what is not committed, so releases would wait."""
_PAUSE_SECONDS = 0.005
_PATIENCE_SECONDS = 60.0
_MOST_BEGINNINGS, _WITHIN_SECONDS = 5, 60.0
_LARGEST_BYTES = 1_000_000

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ByUser:
    """Say what is written where: a topic, and so many partitions of another one."""

    pipeline: str
    source: str
    topic: str
    partitions: int
    codec: Codec
    max_batch: int
    every: float

    @classmethod
    def of(cls, plan: PartitionsPlan[Any], every: float) -> "ByUser":
        """Return what a plan needs that reads records by user."""
        stored = plan.fingerprint
        return cls(
            plan.name,
            stored.origin_topic,
            stored.source_topic,
            stored.partitions,
            plan.codec,
            plan.max_batch,
            min(every, _LONGEST_EVERY),
        )

    @property
    def group(self) -> str:
        """Return the consumer group of those that write."""
        return f"{identity_of(self.pipeline)}.by-user"

    def outgoing(self, batch: Batch) -> list[Outgoing]:
        """Return the records of a batch for each partition of their users.

        Those without a user go where the number of their partition leads.
        """
        homes = self._homes(batch)
        records = [self._carried(*record) for record in batch.records()]
        return [
            Outgoing(
                home,
                [origin_key(batch.partition, batch.offsets[place]) for place in own],
                OptionalByteColumn.of([records[place][0] for place in own]),  # type: ignore[arg-type]
                [records[place][1] for place in own],
                [max(batch.timestamps[place], 0) for place in own],
            )
            for home in np.unique(homes).tolist()
            for own in [np.flatnonzero(homes == home).tolist()]
        ]

    def _homes(self, batch: Batch) -> Integers:
        keys = self.codec.keys_of(batch)
        homes = np.full(len(keys), batch.partition % self.partitions, dtype=np.int64)
        known = [place for place, key in enumerate(keys) if key]
        if known:
            users = [key for key in keys if key]
            homes[known] = partitions_of(users, self.partitions, "murmur2")
        return homes

    def _carried(
        self,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes]],
    ) -> tuple[bytes | None, list[tuple[str, bytes]]]:
        """Return value and headers as they are read; what is too large to be read, in no more
        bytes than that takes."""
        told = [(name, it) for name, it in headers if it is not None]
        kept = told if self.codec.reads_headers else []
        own, most = len(value or b""), self.codec.max_value_bytes
        if own > most or own + sum(len(name) + len(it) for name, it in kept) > _LARGEST_BYTES:
            return bytes(most + 1), []
        return value, kept


@dataclass(eq=False)
class _Read:
    """Hold how far a partition of the source is read."""

    partition: int
    position: int
    touched: bool = False


@dataclass(eq=False)
class Forwarder(Rebalance):
    """Read the partitions of the source that a consumer group gives, and write them by user.

    `name` is that of this process, or of its part.
    """

    what: ByUser
    name: str
    client: CopyClient
    stop: StopFlag
    metrics: Metrics
    _owned: dict[int, _Read] = field(default_factory=dict, init=False)
    _given: list[int] = field(default_factory=list, init=False)
    _member_id: str = field(default="", init=False)
    _lost: bool = field(default=False, init=False)

    def run(self) -> None:
        """Write until a stop is requested; begin again where the group went on without us."""
        beginnings: deque[float] = deque(maxlen=_MOST_BEGINNINGS)
        try:
            while not self.stop.requested:
                beginnings.append(time.monotonic())
                try:
                    self._run()
                except (GivenAway, ShutOut) as error:
                    lasted = time.monotonic() - beginnings[0]
                    if len(beginnings) == _MOST_BEGINNINGS and lasted < _WITHIN_SECONDS:
                        raise
                    log.warning("%s What was not committed is aborted. Beginning again.", error)
        finally:
            self.stop.request()

    def _run(self) -> None:
        what, self._lost = self.what, False
        settings = CopySettings(instance=self.name, every=what.every)
        identity = f"{transactional_id(what.pipeline, self.name)}/by-user"
        self._milliseconds = settings.milliseconds
        self._writer = self.client.copy_writer(identity, self._milliseconds)
        self._reader = self.client.reader(what.source, headers=what.codec.reads_headers)
        self._intake = Intake(
            what.source, self._reader, what.max_batch, what.codec.is_ready, self.metrics
        )
        self._member = self.client.member(what.group, what.source, self)
        try:
            self._write_on()
            self._cut()
        finally:
            self._forget()
            self._writer.abandon()
            self._member.close()
            self._writer.close()
            self._intake.close()

    def _write_on(self) -> None:
        cut_at = time.monotonic()
        while not self.stop.requested:
            self._member.poll()
            if self._lost:
                raise GivenAway(f"consumer group {self.what.group} has counted this process out.")
            if self._given:
                self._cut()
                self._take_over()
            taken = self._intake.next(self._owned) if self._owned else []
            for read, batch in taken:
                for outgoing in self.what.outgoing(batch):
                    self._writer.write(self.what.topic, outgoing)
                read.position, read.touched = int(batch.offsets[-1]) + 1, True
            if time.monotonic() - cut_at >= self.what.every:
                self._cut()
                cut_at = time.monotonic()
            if not taken:
                time.sleep(_PAUSE_SECONDS)

    def _cut(self) -> None:
        """Commit what was written, with the positions behind it."""
        for read in self._owned.values():
            self._intake.pass_marks(read)
        touched = [read for read in self._owned.values() if read.touched]
        if not touched:
            return
        self._writer.acknowledge()
        group = self._member.metadata()
        if self._lost or not group.is_of(self._member_id):
            raise GivenAway(f"consumer group {self.what.group} has given partitions to others.")
        positions = {read.partition: read.position for read in touched}
        self._writer.send_offsets({self.what.source: positions}, group)
        self._writer.commit()
        for read in touched:
            read.touched = False
            self._show(read)

    def _take_over(self) -> None:
        given, self._given = self._given, []
        seconds = _PATIENCE_SECONDS + self._milliseconds / 1000
        committed = self._member.committed(given, seconds, lambda: None)
        bounds = self._reader.bounds(given)
        missing = [partition for partition in given if committed[partition] is None]
        first = self._first_positions(missing, bounds) if missing else {}
        for partition in given:
            position = committed[partition]
            position = first[partition] if position is None else position
            self._require_there(partition, position, bounds[partition])
            self._owned[partition] = _Read(partition, position)
            self._show(self._owned[partition])
        self._assign()

    def _first_positions(
        self, partitions: Sequence[int], bounds: dict[int, Bounds]
    ) -> dict[int, int]:
        """Return where partitions go on of which the group knows no position (any more).

        Kafka forgets positions of a group without members after a while, so the internal topic is
        asked what it holds.
        """
        last, whole = self._last_origins()
        first = {}
        for partition in partitions:
            if partition in last:
                first[partition] = last[partition] + 1
            elif whole:
                first[partition] = bounds[partition].start
            else:
                raise StartRefused(
                    f"consumer group {self.what.group} has no position in topic "
                    f"{self.what.source}, partition {partition}, and {self.what.topic} does not "
                    "hold any more which of its records are written. Set the position "
                    "(kafka-consumer-groups.sh --reset-offsets --to-offset); records behind it "
                    "are written, once more if they were before."
                )
        return first

    def _last_origins(self) -> tuple[dict[int, int], bool]:
        """Return the last record of each partition that is written, and whether nothing is gone."""
        last: dict[int, int] = {}
        with closing(self.client.reader(self.what.topic)) as reader:
            bounds = reader.bounds(list(range(self.what.partitions)))
            for partition, bound in bounds.items():
                for batch in reader.read_range(partition, bound.start, bound.end):
                    for origin in map(origin_of, batch.keys):
                        if origin is not None:
                            home, offset = origin
                            last[home] = max(last.get(home, -1), offset)
        return last, all(bound.start == 0 for bound in bounds.values())

    def _require_there(self, partition: int, position: int, bounds: Bounds) -> None:
        if not bounds.start <= position <= bounds.end:
            raise StartRefused(
                f"topic {self.what.source}, partition {partition}: the next record to write by "
                f"user has offset {position}, but the topic now holds offsets {bounds.start} to "
                f"{bounds.end}. Retention removed records that were not read, or the topic was "
                f"truncated. Restore them; or pass them over: set the position of consumer group "
                f"{self.what.group} to {bounds.start} (kafka-consumer-groups.sh --reset-offsets "
                "--to-offset). All budgets stay."
            )

    def _assign(self) -> None:
        self._intake.assign({one: read.position for one, read in self._owned.items()})

    def _show(self, read: _Read) -> None:
        place = self.what.source, read.partition
        self.metrics.standing.positions[place] = read.position

    def _forget(self) -> None:
        for partition in self._owned:
            self.metrics.standing.positions.pop((self.what.source, partition), None)
        self._owned.clear()
        self._given.clear()

    # what the group says

    def given(self, partitions: Sequence[int], member: str) -> None:
        self._given += partitions
        self._member_id = member

    def taken(self, partitions: Sequence[int]) -> None:
        """Commit, and forget; the next owner is told once this returns."""
        self._given = [one for one in self._given if one not in partitions]
        if not set(partitions) & self._owned.keys():
            return
        self._cut()
        for partition in partitions:
            self._owned.pop(partition, None)
            self.metrics.standing.positions.pop((self.what.source, partition), None)
        self._assign()

    def lost(self) -> None:
        """Forget everything: others own it."""
        self._lost = True
        self._forget()
