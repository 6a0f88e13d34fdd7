"""Write to Kafka with bytewax: a release goes to the partition of its record, and never twice.

The resume state of a part is an offset of its own output partition. When the part is rebuilt, it
reads from there to the end and remembers release id -> digest. A replayed release with a known id
is skipped if its digest is equal; another digest stops the pipeline before any state advances
(`ReplayedReleases`).
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition

from fugu.dataflows.base.batches import Batch, Header, Outgoing
from fugu.dataflows.base.errors import NEW_PIPELINE, KafkaUnavailable, ReleaseMismatch, StartRefused
from fugu.dataflows.base.metrics import EVENT_TIME, RECORDS_OUT, REPLAYED, Metrics
from fugu.dataflows.kafka.client import TRANSACTION_SECONDS, Bounds, Client, Reader, Writer
from fugu.dataflows.kafka.source import ReleaseTimes, part_names
from fugu.dataflows.records.published import record_digest, release_id_of

log = logging.getLogger(__name__)

_UNMATCHED_WINDOW = 500_000
"""The most source offsets between a replayed one and that of an unmatched release."""


@dataclass(frozen=True)
class Published:
    """Describe a release that is there already."""

    offset: int
    digest: bytes
    timestamp: int


ReleaseIds = Callable[[int, Sequence[int]], Sequence[bytes]]


@dataclass(eq=False)
class ReplayedReleases:
    """Compare a replay of source partition `source` with what a partition of `topic` holds.

    A release whose id is known is not written again if its digest is equal; another digest stops
    the pipeline.

    A published release that does not come back in the replay must have an explanation, too. Its id
    is that of a later record (the predecessor's producer gave up one request and delivered the
    next), or of one before the last snapshot (a late request of the predecessor, an identical copy
    of what was published since), or the pipeline stops. Releases of ticks are ordered by time
    instead.

    `published` are the releases that are still awaited, by release id; those that come back are
    taken out. `release_ids` names the releases of source records; it is None where releases belong
    to ticks. The source is read again from the offset `resumed` on.
    """

    topic: str
    partition: int
    source: int
    published: dict[bytes, Published]
    release_ids: ReleaseIds | None
    metrics: Metrics
    resumed: int = 0
    _explained: bool = field(default=False, init=False)
    _since: int | None = field(default=None, init=False)
    _count: int = field(default=0, init=False)

    def without_published(self, outgoing: Outgoing) -> Outgoing:
        """Return the records that are not in the topic yet; raise `ReleaseMismatch` where the
        replay makes something else than what is there."""
        fresh = []
        for index, headers in enumerate(outgoing.headers):
            release_id = release_id_of(headers)
            known = None if release_id is None else self.published.pop(release_id, None)
            if known is None:
                if self.release_ids is not None:
                    self._explain_unmatched(self.release_ids, outgoing.positions[index])
                fresh.append(index)
                continue
            key, value = outgoing.keys[index], outgoing.values[index]
            if record_digest(key, value, headers, outgoing.timestamps[index]) != known.digest:
                raise self._mismatch(known.offset, "with other content than its replay has now")
            self._count += 1
        if self.release_ids is None:
            self._explain_by_time(outgoing.timestamps)
        if not self.published:
            log.info(
                "topic %s, partition %d: recognised %d releases published before the restart",
                self.topic,
                self.partition,
                self._count,
                extra={"topic": self.topic, "partition": self.partition},
            )
        skipped = len(outgoing.values) - len(fresh)
        self.metrics.add(REPLAYED, skipped, self.topic, self.partition)
        return outgoing.at(fresh)

    def _explain_unmatched(self, release_ids: ReleaseIds, position: int) -> None:
        """Explain once that the replay met a release that is not published, while others are."""
        if self._explained or not self.published:
            return
        self._explained = True
        first = max(0, self.resumed - _UNMATCHED_WINDOW)
        earlier = set(release_ids(self.source, range(first, self.resumed)))
        passed = set(release_ids(self.source, range(self.resumed, position)))
        later = range(position, position + _UNMATCHED_WINDOW)
        later_ids = set(release_ids(self.source, later))
        for release_id, one in list(self.published.items()):
            if release_id in earlier:
                del self.published[release_id]
            elif release_id in passed:
                raise self._lost(one.offset)
            elif release_id not in later_ids:
                raise self._mismatch(one.offset, "and is no release of this pipeline as it is now")

    def _explain_by_time(self, timestamps: Sequence[int]) -> None:
        """Explain published releases by their ticks, which are replayed whole and in order.

        A release that did not come back with its tick will not come back any more.
        """
        if not timestamps:
            return
        self._since = timestamps[0] if self._since is None else self._since
        for release_id, one in list(self.published.items()):
            if one.timestamp < self._since:
                del self.published[release_id]
            elif one.timestamp <= timestamps[-1]:
                raise self._mismatch(one.offset, "and its tick has passed without it now")

    def _lost(self, offset: int) -> StartRefused:
        return StartRefused(
            f"topic {self.topic}, partition {self.partition}, offset {offset} was published of a "
            "record that is not in the source any more, as where compaction has removed it since "
            "the last snapshot. What it cost is not known to the state, so nothing more is "
            f"published to this partition. Restore the source topic, or {NEW_PIPELINE}."
        )

    def _mismatch(self, offset: int, what: str) -> ReleaseMismatch:
        return ReleaseMismatch(
            f"release_mismatch: topic {self.topic}, partition {self.partition}, "
            f"offset {offset} was published {what}. The secret, the law, the model, the input or "
            "Fugu itself changed under a running pipeline, or something else writes to the topic; "
            "nothing more was published to this partition. Restore what changed, or "
            f"{NEW_PIPELINE}."
        )


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
