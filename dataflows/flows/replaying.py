"""Release a partition of the source once more, and compare every release with what is published.

A release is a function of secret, law, place and what came before it. So where all releases come
back to the byte, the rows that made them are those that were lost, with beliefs and budgets.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain

from fugu.dataflows.base.batches import Batch, Header, Outgoing
from fugu.dataflows.base.errors import NEW_PIPELINE, StartRefused, without_values
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.pipeline.topics import Topics
from fugu.dataflows.publishing.envelope import Publisher
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.published import record_digest, release_id_of
from fugu.dataflows.stages.stage import StreamStage
from fugu.dataflows.state.row_table import RowTable

_AT_ONCE = 100_000
_LATE = 500_000
"""Count the records before the last release of which dead letters may be missing."""
_COPIES_KEPT = 100_000
"""Count the releases of which an identical copy is recognised."""


@dataclass(frozen=True)
class Published:
    """Describe a release in the sink."""

    offset: int
    release_id: bytes
    digest: bytes


@dataclass
class Replayed:
    """Hold the rows of a partition, and what stands behind the last release that is published."""

    table: RowTable
    source_next: int = 0
    source_end: int = 0
    sink_next: int = 0
    dead_letters_next: int = 0
    releases: int = 0
    spending: dict[bytes, tuple[bytes, list[Header], int]] = field(default_factory=dict)
    """The newest record of the ledger about each stream, by key."""
    unsaid: list[Outgoing] = field(default_factory=list)
    """Dead letters of records before the last release that are not published."""


@dataclass(frozen=True)
class Replay:
    """Replay partitions of a source through a stage."""

    client: Client
    topics: Topics
    codec: Codec
    stage: StreamStage
    publisher: Publisher
    claimed: bool = False
    """Say whether claims show that the pipeline has released into this sink alone."""

    def of(self, partition: int) -> Replayed:
        """Return what a partition stood at; `StartRefused` if it does not make what is published.

        Without a release, only claims show that its records were not released somewhere else.
        """
        end = self._whole(self.topics.source.name, partition)
        written = self._whole(self.topics.sink.name, partition)
        replayed = Replayed(RowTable(self.stage.start, self.stage.ends), source_end=end)
        last = self._last(partition)
        if last is None:
            if end > 0 and (written > 0 or not self.claimed):
                raise StartRefused(
                    f"topic {self.topics.sink.name}, partition {partition} holds no release, but "
                    f"topic {self.topics.source.name} holds {end:,} offsets there: nothing shows "
                    "whether and how they were released before. Restore the state directory, or "
                    f"{NEW_PIPELINE}."
                )
            self._look_for_dead_letters(partition, replayed)
            return replayed
        replayed.source_next = self._position(partition, end, last) + 1
        replayed.sink_next = last.offset + 1
        self._compare(partition, replayed)
        self._look_for_dead_letters(partition, replayed)
        return replayed

    def _whole(self, topic: str, partition: int) -> int:
        """Return the end of a partition from which nothing was removed."""
        with closing(self.client.reader(topic)) as reader:
            bound = reader.bounds([partition])[partition]
        if bound.start > 0:
            raise StartRefused(
                f"topic {topic}, partition {partition} begins at offset {bound.start:,}: retention "
                "has removed what came before, so it cannot be released once more and compared, "
                "and what it spent is not known. Restore the state directory from a backup, or "
                f"{NEW_PIPELINE}."
            )
        return bound.end

    def _last(self, partition: int) -> Published | None:
        """Return the last release of a partition."""
        with closing(self.client.reader(self.topics.sink.name, headers=True)) as reader:
            first = end = reader.bounds([partition])[partition].end
            while first > 0:
                first = max(0, first - _AT_ONCE)
                batches = reader.read_range(partition, first, end)
                releases = chain.from_iterable(map(_releases, batches))
                for newest in deque(releases, maxlen=1):
                    return newest
        return None

    def _position(self, partition: int, end: int, last: Published) -> int:
        """Return the offset of the record that a release belongs to."""
        for first in reversed(range(0, end, _AT_ONCE)):
            offsets = range(first, min(first + _AT_ONCE, end))
            names = list(self.publisher.release_ids(partition, offsets))
            if last.release_id in names:
                return first + names.index(last.release_id)
        raise self._other(partition, last.offset)

    def _compare(self, partition: int, replayed: Replayed) -> None:
        source, sink = self.topics.source.name, self.topics.sink.name
        with (
            closing(self.client.reader(source, headers=self.codec.reads_headers)) as records,
            closing(self.client.reader(sink, headers=True)) as releases,
        ):
            there = releases.read_range(partition, 0, replayed.sink_next)
            published = _each_once(chain.from_iterable(map(_releases, there)))
            for batch in records.read_range(partition, 0, replayed.source_next):
                with without_values("rebuild", source, partition, batch.offsets):
                    sanitized = self.stage(self.codec.decode(batch), replayed.table)
                    outgoing = self.publisher.releases(sanitized)
                    spending = self.publisher.spending(sanitized)
                self._match(partition, outgoing, published, replayed.sink_next)
                if sanitized.dead.offsets and batch.offsets[-1] >= replayed.source_next - _LATE:
                    replayed.unsaid.append(self.publisher.dead_letters(partition, sanitized.dead))
                replayed.releases += len(outgoing.values)
                for index, key in enumerate(spending.keys):
                    replayed.spending[key or b""] = (
                        spending.values[index],
                        list(spending.headers[index]),
                        spending.timestamps[index],
                    )
            left = next(published, None)
        if left is not None:
            raise self._other(partition, left.offset)

    def _match(
        self, partition: int, outgoing: Outgoing, published: Iterator[Published], end: int
    ) -> None:
        columns = outgoing.keys, outgoing.values, outgoing.headers, outgoing.timestamps
        for key, value, headers, timestamp in zip(*columns, strict=True):
            there = next(published, None)
            digest = record_digest(key, value, headers, timestamp)
            if there is None or (there.release_id, there.digest) != (
                release_id_of(headers),
                digest,
            ):
                raise self._other(partition, end - 1 if there is None else there.offset)

    def _look_for_dead_letters(self, partition: int, replayed: Replayed) -> None:
        """Find where dead letters begin of records behind the last release, and which ones are
        missing before it: they are written beside releases, so that a crash may lose them."""
        end, said = replayed.source_end, set[bytes | None]()
        made = {release_id_of(headers) for one in replayed.unsaid for headers in one.headers}
        behind = set(self.publisher.dead_letter_ids(partition, range(replayed.source_next, end)))
        first = None
        with closing(self.client.reader(self.topics.dead_letters.name, headers=True)) as reader:
            bound = reader.bounds([partition])[partition]
            for batch in reader.read_range(partition, bound.start, bound.end):
                for offset, _, _, _, headers in batch.records():
                    name = release_id_of(headers)
                    if name in made:
                        said.add(name)
                    if first is None and name in behind:
                        first = int(offset)
        replayed.dead_letters_next = bound.end if first is None else first
        replayed.unsaid = [
            one.at([at for at, h in enumerate(one.headers) if release_id_of(h) not in said])
            for one in replayed.unsaid
        ]

    def _other(self, partition: int, offset: int) -> StartRefused:
        return StartRefused(
            f"topic {self.topics.sink.name}, partition {partition}, offset {offset}: what the "
            "source makes now is another release. The pipeline file, the secret or Fugu itself "
            "changed since (fugu migrate, fugu state rotate and repartition count as well), "
            "records were driven again or are gone from the source, or something else writes to "
            "the topic. Take the pipeline file that ran last; if it is this one, the state cannot "
            f"be rebuilt: restore it from a backup, or {NEW_PIPELINE}."
        )


def _releases(batch: Batch) -> Iterator[Published]:
    for offset, timestamp, key, value, headers in batch.records():
        release_id = release_id_of(headers)
        if release_id is not None and value is not None:
            yield Published(offset, release_id, record_digest(key, value, headers, timestamp))


def _each_once(releases: Iterator[Published]) -> Iterator[Published]:
    """Leave identical copies out: a request that came late, of a process that had died."""
    recent: dict[bytes, bytes] = {}
    for release in releases:
        if recent.get(release.release_id) == release.digest:
            continue
        recent[release.release_id] = release.digest
        if len(recent) > _COPIES_KEPT:
            del recent[next(iter(recent))]
        yield release
