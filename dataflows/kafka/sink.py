"""Write to Kafka with bytewax: a release goes to the partition of its record, and never twice.

The resume state of a part is an offset of its own output partition. When the part is rebuilt, it
reads from there to the end and remembers release id -> digest. A replayed release with a known id
is skipped if its digest is equal; another digest stops the pipeline before any state advances
(`replayed_releases`).
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition

from fugu.dataflows.base.batches import Batch, Header, Outgoing
from fugu.dataflows.base.errors import NEW_PIPELINE, KafkaUnavailable, StartRefused
from fugu.dataflows.base.metrics import EVENT_TIME, RECORDS_OUT, Metrics
from fugu.dataflows.kafka.client import TRANSACTION_SECONDS, Bounds, Client, Reader, Writer
from fugu.dataflows.kafka.release_times import ReleaseTimes
from fugu.dataflows.kafka.replayed_releases import Published, ReleaseIds, ReplayedReleases
from fugu.dataflows.kafka.source import part_names
from fugu.dataflows.records.published import record_digest, release_id_of

log = logging.getLogger(__name__)

_SAID_EVERY_SECONDS, _LOOKED_EVERY_SECONDS = 5.0, 0.2
_LONGEST_SECONDS = TRANSACTION_SECONDS + 30.0
"""Longer than Kafka leaves the transaction of a predecessor open."""


@dataclass(frozen=True)
class Shared:
    """Find the records of one pipeline in a topic of many, by part and key.

    Others may use the same keys, so it is asked as well whether a record `is_sealed`: key, value,
    headers and timestamp.
    """

    partitions: int
    has_key: Callable[[int, bytes | None], bool]
    is_sealed: Callable[[bytes | None, bytes | None, list[Header], int], bool] = (
        lambda key, value, headers, timestamp: True
    )

    def is_own(
        self,
        part: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[Header],
        timestamp: int,
    ) -> bool:
        """Return whether a record is of this part."""
        return self.has_key(part, key) and self.is_sealed(key, value, headers, timestamp)


def require_sink_offset(topic: str, partition: int, start: int, bounds: Bounds) -> None:
    """Raise `StartRefused` where releases behind the last snapshot cannot be recognised."""
    if not bounds.start <= start <= bounds.end:
        raise StartRefused(
            f"topic {topic}, partition {partition}: the last snapshot ends at offset "
            f"{start}, but the topic now holds offsets {bounds.start} to {bounds.end}, so "
            "releases that were already published cannot be recognised. Restore the "
            "topic. If the pipeline had stopped gracefully, nothing has to be recognised: fugu "
            "migrate PIPELINE PIPELINE goes on with all budgets; if this is sink.topic, delete it "
            f"before and create it anew, empty. Otherwise {NEW_PIPELINE}."
        )


def count_out(metrics: Metrics, topic: str, partition: int, outgoing: Outgoing) -> None:
    """Count records that were handed over, and show their times."""
    metrics.add(RECORDS_OUT, len(outgoing.values), topic, partition)
    if outgoing.values:
        median = float(np.median(np.asarray(outgoing.timestamps, dtype=np.int64)))
        metrics.put(EVENT_TIME, median / 1000, topic, partition)


@dataclass(eq=False)
class KafkaSink(FixedPartitionedSink[Outgoing, int]):
    """Write some partitions of one output topic.

    `begin` holds their first offsets when the pipeline was created: where to look for releases if
    the process died before its first snapshot. `release_ids` names the releases of source records;
    it is None where releases belong to ticks.

    A topic that other pipelines write to as well is `shared`: part i is then found in partition i
    modulo the topic's partitions, among the records that are its own.

    `wait` returns when everything else that an epoch keeps is durable, and raises where another
    process has taken over. bytewax asks sinks last, and counts an epoch once they have answered.
    `times` are told of that, by the sink of releases. `owner` is who writes, whose predecessor may
    have left a transaction open; whether that is still waited for, `is_stopped` says.
    `require_same` raises where topics are other ones than at the start, before anything is flushed.
    `resumed` says from where on each partition of the source is read again.
    """

    client: Client
    writer: Writer
    topic: str
    begin: dict[int, int]
    release_ids: ReleaseIds | None
    metrics: Metrics = field(default_factory=Metrics)
    shared: Shared | None = None
    wait: Callable[[], None] = lambda: None
    times: ReleaseTimes | None = None
    owner: str = ""
    is_stopped: Callable[[], bool] = lambda: False
    require_same: Callable[[], None] = lambda: None
    resumed: Mapping[int, int] = field(default_factory=dict)
    _parts: "dict[int, KafkaSinkPart]" = field(default_factory=dict, init=False)

    def has_caught_up(self, partitions: Iterable[int]) -> bool:
        """Return whether the replay has reached everything published before the start.

        `partitions` had records to read; bytewax makes a part when its first item comes.
        """
        parts = self._parts
        return parts.keys() >= set(partitions) and not any(p.published for p in parts.values())

    def list_parts(self) -> list[str]:
        """Return the names of the parts, in numeric order."""
        return part_names(self.begin)

    def part_fn(self, item_key: str) -> int:
        """Return the index, among the parts, of the one that the key of an item names."""
        return self._indices[item_key]

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.list_parts())}

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> "KafkaSinkPart":
        """Read back what was published after the resume offset."""
        source = int(for_part)
        if self.shared is None:  # before the scan: what a predecessor left open is aborted
            writer, partition = self.writer.owner_of(self.topic, source), source
        else:
            writer, partition = self.writer, source % self.shared.partitions
        start = self.begin[source] if resume_state is None else resume_state
        published: dict[bytes, Published] = {}
        with closing(self.client.reader(self.topic)) as reader:
            bounds = self._settled_bounds(reader, partition)
            require_sink_offset(self.topic, partition, start, bounds)
            foreign = list[int]()
            for batch in reader.read_range(partition, start, bounds.end):
                published |= self._releases(source, batch, foreign)
        self._say_foreign(partition, foreign)
        part = KafkaSinkPart(self, writer, source, partition, bounds.end, published)
        self._parts[source] = part
        return part

    def _settled_bounds(self, reader: Reader, partition: int) -> Bounds:
        """Return where a partition begins and ends, once no predecessor can commit any more.

        A process that wrote in transactions may have died in the middle of one, and Kafka ends it
        after a while. Whether its releases count is not known before. Another producer may have one
        open there, too, and for longer: `KafkaUnavailable` then, and after a stop.
        """
        written = None if self.shared is not None else self._written[partition]
        began, said = time.monotonic(), float("-inf")
        while True:
            bounds = reader.bounds([partition])[partition]
            if written is None or bounds.end >= written:
                return bounds
            now = time.monotonic()
            if said < began and self.owner:
                self.client.end_transaction_of(self.owner)
            behind = f"topic {self.topic}, partition {partition}: behind offset {bounds.end}"
            if self.is_stopped():
                raise KafkaUnavailable(
                    f"{behind}, a transaction is open, and a stop was requested before it ended. "
                    "Nothing was read or published; the next start goes on."
                )
            if now - began > _LONGEST_SECONDS:
                raise KafkaUnavailable(
                    f"{behind}, a transaction has been open for {_LONGEST_SECONDS:.0f} s, longer "
                    "than one of this pipeline can be. kafka-transactions.sh find-hanging names "
                    "its producer: end it, and let nobody else write to this topic."
                )
            if now - said > _SAID_EVERY_SECONDS:
                said = now
                log.warning(
                    "%s, a transaction is open: waiting for its end. Kafka ends one that a "
                    "predecessor left open within %d s",
                    behind,
                    TRANSACTION_SECONDS,
                    extra={"topic": self.topic, "partition": partition},
                )
            time.sleep(_LOOKED_EVERY_SECONDS)

    @cached_property
    def _written(self) -> dict[int, int]:
        """Return where partitions end, open transactions included."""
        with closing(self.client.reader(self.topic, committed=False)) as reader:
            return {one: b.end for one, b in reader.bounds(sorted(self.begin)).items()}

    def _releases(self, source: int, batch: Batch, foreign: list[int]) -> dict[bytes, Published]:
        """Return the releases of a part that a batch of the topic holds, by release id; add the
        offsets of what is none to `foreign`."""
        found: dict[bytes, Published] = {}
        for offset, timestamp, key, value, headers in batch.records():
            own = self.shared is None or self.shared.is_own(source, key, value, headers, timestamp)
            if not own:
                continue
            release_id = release_id_of(headers)
            if release_id is None or value is None:
                foreign.append(offset)
                continue
            digest = record_digest(key, value, headers, timestamp)
            found[release_id] = Published(offset, digest, timestamp)
        return found

    def _say_foreign(self, partition: int, offsets: list[int]) -> None:
        if offsets:
            log.warning(
                "topic %s, partition %d: %d records were not written by Fugu, the first at offset "
                "%d; give the pipeline a topic of its own",
                self.topic,
                partition,
                len(offsets),
                offsets[0],
                extra={"topic": self.topic, "partition": partition, "offset": offsets[0]},
            )


@dataclass(eq=False)
class KafkaSinkPart(StatefulSinkPartition[Outgoing, int]):
    """Write releases of source partition `source`; `published` holds those the replay awaits."""

    sink: KafkaSink
    writer: Writer
    source: int
    partition: int
    end: int
    published: dict[bytes, Published]

    @cached_property
    def _replayed(self) -> ReplayedReleases:
        sink = self.sink
        return ReplayedReleases(
            sink.topic,
            self.partition,
            self.source,
            self.published,
            sink.release_ids,
            sink.metrics,
            sink.resumed.get(self.source, 0),
        )

    def write_batch(self, values: list[Outgoing]) -> None:
        """Publish what is not there yet."""
        for outgoing in values:
            if not outgoing.values:
                continue
            if outgoing.behind_all:
                self.writer.flush()
            elif self.published:
                outgoing = self._replayed.without_published(outgoing)
            self.writer.write(self.sink.topic, replace(outgoing, partition=self.partition))
            count_out(self.sink.metrics, self.sink.topic, self.partition, outgoing)

    def snapshot(self) -> int:
        """Wait for all acknowledgements and writes; resume before the first release not yet
        replayed."""
        self.sink.require_same()
        self.writer.flush()
        self.sink.wait()
        if self.sink.times is not None:
            self.sink.times.acknowledged(self.source)
        end = self.writer.acknowledged_end(self.sink.topic, self.partition)
        if end is not None:
            self.end = max(self.end, end)
        return min((one.offset for one in self.published.values()), default=self.end)

    def close(self) -> None:
        """Take back what no snapshot covers, where transactions allow that."""
        self.writer.abandon()
