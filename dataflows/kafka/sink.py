"""The bytewax sink: output partition = source partition, and a replay never publishes twice.

The resume state of a part is an offset of its own output partition. When it is rebuilt, it reads
from there to the end and remembers release id -> digest. A replayed release with a known id is
skipped if its digest is equal; a different digest stops the pipeline before any state advances.

What was published and does not come back in the replay must have an explanation, too. Its release
id is that of a later record (the predecessor's producer gave up one request and delivered the
next), or of an earlier one (a request of the predecessor that arrived late: an identical copy of
what was published since), or the pipeline stops. Releases of ticks have their own order: time.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import NEW_PIPELINE, ReleaseMismatch, StartRefused
from fugu.dataflows.base.metrics import RECORDS_OUT, REPLAYED, Metrics
from fugu.dataflows.kafka.client import Client, Writer
from fugu.dataflows.kafka.source import part_names
from fugu.dataflows.records.published import record_digest, release_id_of

log = logging.getLogger(__name__)

_UNMATCHED_WINDOW = 500_000
"""How many source offsets before and after a replayed one an unmatched release may belong to."""


@dataclass(frozen=True)
class Published:
    """A release that is there already."""

    offset: int
    digest: bytes
    timestamp: int


ReleaseIds = Callable[[int, Sequence[int]], list[bytes]]


@dataclass(frozen=True)
class Shared:
    """Find the records of one pipeline in a topic of many, by part and key."""

    partitions: int
    is_own: Callable[[int, bytes | None], bool]


class KafkaSink(FixedPartitionedSink[Outgoing, int]):
    """Write some partitions of one output topic.

    `begin` holds their first offsets when the pipeline was created: where to look for releases if
    the process died before its first snapshot. `release_ids` names the releases of source records.

    Where releases belong to ticks, and not to records, `release_ids` is None.

    A topic that other pipelines write to as well is `shared`: part i is then found in partition i
    modulo the topic's partitions, among the records that are its own.
    """

    def __init__(
        self,
        client: Client,
        writer: Writer,
        topic: str,
        begin: dict[int, int],
        release_ids: ReleaseIds | None,
        metrics: Metrics | None = None,
        shared: Shared | None = None,
    ) -> None:
        self._client = client
        self._writer = writer
        self._topic = topic
        self._begin = begin
        self._metrics = metrics or Metrics()
        self._shared = shared
        self._index = {name: index for index, name in enumerate(part_names(begin))}
        self._release_ids = release_ids
        self._parts: dict[int, KafkaSinkPart] = {}

    def has_caught_up(self, partitions: Iterable[int]) -> bool:
        """Return whether the replay has reached everything published before the start.

        `partitions` had records to read; bytewax makes a part when its first item comes.
        """
        parts = self._parts
        return parts.keys() >= set(partitions) and not any(p.awaits for p in parts.values())

    def list_parts(self) -> list[str]:
        """Zero-padded partition numbers, so that their order is numeric."""
        return part_names(self._begin)

    def part_fn(self, item_key: str) -> int:
        """The key of an item names its part; bytewax wants its index among the parts."""
        return self._index[item_key]

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> "KafkaSinkPart":
        """Read back what was published after the resume offset."""
        part = int(for_part)
        writer = self._writer
        if self._shared is None:  # before the scan: what a predecessor left open is aborted
            writer = writer.owner_of(self._topic, part)
        start = self._begin[part] if resume_state is None else resume_state
        partition = part if self._shared is None else part % self._shared.partitions
        reader = self._client.reader(self._topic)
        try:
            bounds = reader.bounds([partition])[partition]
            if not bounds.start <= start <= bounds.end:
                raise StartRefused(
                    f"topic {self._topic}, partition {partition}: the last snapshot ends at offset "
                    f"{start}, but the topic now holds offsets {bounds.start} to {bounds.end}, so "
                    "releases that were already published cannot be recognised. Restore the "
                    f"topic, or {NEW_PIPELINE}."
                )
            published: dict[bytes, Published] = {}
            for batch in reader.read_range(partition, start, bounds.end):
                for offset, timestamp, key, value, headers in batch.records():
                    if self._shared is not None and not self._shared.is_own(part, key):
                        continue
                    release_id = release_id_of(headers)
                    if release_id is None or value is None:
                        log.warning(
                            "topic %s, partition %d, offset %d was not written by Fugu; "
                            "give the pipeline a topic of its own",
                            self._topic,
                            partition,
                            offset,
                            extra={
                                "topic": self._topic,
                                "partition": partition,
                                "offset": offset,
                            },
                        )
                        continue
                    digest = record_digest(key, value, headers, timestamp)
                    published[release_id] = Published(offset, digest, timestamp)
        finally:
            reader.close()
        built = KafkaSinkPart(
            writer,
            self._topic,
            part,
            partition,
            bounds.end,
            published,
            self._release_ids,
            self._metrics,
        )
        self._parts[part] = built
        return built


class KafkaSinkPart(StatefulSinkPartition[Outgoing, int]):
    """Releases of source partition `source`; `published` holds those after the last snapshot."""

    def __init__(
        self,
        writer: Writer,
        topic: str,
        source: int,
        partition: int,
        end: int,
        published: dict[bytes, Published],
        release_ids: ReleaseIds | None,
        metrics: Metrics | None = None,
    ) -> None:
        self._writer = writer
        self._topic = topic
        self._source = source
        self._partition = partition
        self._end = end
        self._published = published
        self._release_ids = release_ids
        self._metrics = metrics or Metrics()
        self._explained = False
        self._since: int | None = None
        self._replayed = 0

    @property
    def awaits(self) -> int:
        """Count the published releases that the replay has not reached yet."""
        return len(self._published)

    def write_batch(self, values: list[Outgoing]) -> None:
        """Publish what is not there yet."""
        for outgoing in values:
            if not outgoing.values:
                continue
            if self._published:
                outgoing = self._not_published(outgoing)
            self._writer.write(self._topic, replace(outgoing, partition=self._partition))
            self._metrics.add(RECORDS_OUT, len(outgoing.values), self._topic, self._partition)

    def snapshot(self) -> int:
        """Wait for all acknowledgements; resume before the first release not yet replayed."""
        self._writer.flush()
        end = self._writer.acknowledged_end(self._topic, self._partition)
        if end is not None:
            self._end = end
        return min((one.offset for one in self._published.values()), default=self._end)

    def close(self) -> None:
        """Take back what no snapshot covers, where transactions allow that."""
        self._writer.abandon()

    def _not_published(self, outgoing: Outgoing) -> Outgoing:
        fresh = []
        for index, headers in enumerate(outgoing.headers):
            release_id = release_id_of(headers)
            known = None if release_id is None else self._published.pop(release_id, None)
            if known is None:
                if self._release_ids is not None:
                    self._explain_unmatched(self._release_ids, outgoing.positions[index])
                fresh.append(index)
                continue
            offset, digest = known.offset, known.digest
            key, value = outgoing.keys[index], outgoing.values[index]
            if record_digest(key, value, headers, outgoing.timestamps[index]) != digest:
                raise self._mismatch(offset, "with other content than its replay has now")
            self._replayed += 1
        if self._release_ids is None:
            self._explain_by_time(outgoing.timestamps)
        if not self._published:
            log.info(
                "topic %s, partition %d: recognised %d releases published before the restart",
                self._topic,
                self._partition,
                self._replayed,
                extra={"topic": self._topic, "partition": self._partition},
            )
        skipped = len(outgoing.values) - len(fresh)
        self._metrics.add(REPLAYED, skipped, self._topic, self._partition)
        return replace(
            outgoing,
            keys=[outgoing.keys[i] for i in fresh],
            values=[outgoing.values[i] for i in fresh],
            headers=[outgoing.headers[i] for i in fresh],
            timestamps=[outgoing.timestamps[i] for i in fresh],
            positions=[outgoing.positions[i] for i in fresh],
        )

    def _explain_unmatched(self, release_ids: ReleaseIds, position: int) -> None:
        """Explain once that the replay met a release that is not published, while others are."""
        if self._explained or not self._published:
            return
        self._explained = True
        first = max(0, position - _UNMATCHED_WINDOW)
        earlier = set(release_ids(self._source, range(first, position)))
        later = range(position, position + _UNMATCHED_WINDOW)
        later_ids = set(release_ids(self._source, later))
        for release_id, one in list(self._published.items()):
            if release_id in earlier:
                del self._published[release_id]
            elif release_id not in later_ids:
                raise self._mismatch(one.offset, "and is no release of this pipeline as it is now")

    def _explain_by_time(self, timestamps: list[int]) -> None:
        """Ticks are replayed whole and in order: a release that is there and did not come back with
        its tick will not come back any more."""
        if not timestamps:
            return
        self._since = timestamps[0] if self._since is None else self._since
        for release_id, one in list(self._published.items()):
            if one.timestamp < self._since:
                del self._published[release_id]
            elif one.timestamp <= timestamps[-1]:
                raise self._mismatch(one.offset, "and its tick has passed without it now")

    def _mismatch(self, offset: int, what: str) -> ReleaseMismatch:
        return ReleaseMismatch(
            f"release_mismatch: topic {self._topic}, partition {self._partition}, offset {offset} "
            f"was published {what}. The secret, the law, the model, the input or Fugu itself "
            "changed under a running pipeline, or something else writes to the topic; nothing "
            f"more was published to this partition. Restore what changed, or {NEW_PIPELINE}."
        )
