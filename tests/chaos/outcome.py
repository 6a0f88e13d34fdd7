"""Follow what a pipeline has published by now, record by record, and judge it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from kafka import KafkaConsumer, TopicPartition

from tests.kafka.records import FETCH_BYTES, Record, partitions_of

Topic = dict[int, list[Record]]


class Wrong(AssertionError):
    """Say that something else was published than one undisturbed run publishes."""


@dataclass
class Followed:
    """The committed records of some topics, in the order of each partition."""

    bootstrap: str
    topics: Sequence[str]
    found: dict[str, Topic] = field(init=False)

    def __post_init__(self) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            max_partition_fetch_bytes=FETCH_BYTES,
            isolation_level="read_committed",
        )
        of = {topic: partitions_of(self._consumer, topic) for topic in self.topics}
        parts = [TopicPartition(topic, p) for topic, numbers in of.items() for p in numbers]
        self._consumer.assign(parts)
        self._consumer.seek_to_beginning(*parts)
        self.found = {topic: {p: [] for p in numbers} for topic, numbers in of.items()}

    def close(self) -> None:
        """Follow no more; what was found stays."""
        self._consumer.close()

    def read_on(self) -> Sequence[Topic]:
        """Read what is new, and return what the topics hold by now, in their order."""
        while polled := self._consumer.poll(timeout_ms=10):
            for part, records in polled.items():
                self.found[part.topic][part.partition] += [
                    Record(r.key, r.value, tuple(r.headers), r.timestamp) for r in records
                ]
        return [self.found[topic] for topic in self.topics]


def check_no_release_twice(releases: Mapping[int, Iterable[Record]]) -> None:
    """Demand that each release, and each dead letter, has a name of its own."""
    seen: dict[bytes, int] = {}
    for partition, records in releases.items():
        for place, record in enumerate(records):
            name = dict(record.headers)["fugu-release"]
            if name in seen:
                raise Wrong(f"partition {partition}: record {place} repeats {seen[name]}")
            seen[name] = place


def check_equal(disturbed: Topic, undisturbed: Topic) -> None:
    """Demand the same records in the same order; the error names the first that differs."""
    for partition, wanted in undisturbed.items():
        found = disturbed[partition]
        for place, (one, other) in enumerate(zip(found, wanted, strict=False)):
            if one != other:
                raise Wrong(f"partition {partition}: record {place} differs from that of peace")
        if len(found) != len(wanted):
            raise Wrong(f"partition {partition}: {len(found)} records instead of {len(wanted)}")


def check_one_content(written: Topic) -> int:
    """Demand one content for each name, among aborted records too; returns how many came again.

    An aborted record stays readable: another draw of the same truth beside it would leak.
    """
    contents: dict[bytes, tuple[object, ...]] = {}
    again = 0
    for partition, records in written.items():
        for record in records:
            name = _name(record)
            if name is None:
                continue
            content = partition, record.key, record.value, record.timestamp
            again += name in contents
            if contents.setdefault(name, content) != content:
                raise Wrong(f"partition {partition}: one release was drawn twice, and differently")
    return again


@dataclass(frozen=True)
class Tally:
    """Count releases of peace that are missing, and those that came too often or changed."""

    lost: int = 0
    doubled: int = 0
    drawn_twice: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.lost + other.lost,
            self.doubled + other.doubled,
            self.drawn_twice + other.drawn_twice,
        )


def tally(disturbed: Topic, undisturbed: Topic, written: Topic) -> Tally:
    """Count by the names of releases; `written` holds aborted ones too."""
    here, there = Counter(_names(disturbed)), Counter(_names(undisturbed))
    contents: dict[bytes, set[tuple[bytes | None, bytes | None, int | None]]] = {}
    for record in _records(written):
        if name := _name(record):
            contents.setdefault(name, set()).add((record.key, record.value, record.timestamp))
    return Tally(
        lost=sum((there - here).values()),
        doubled=sum(count - 1 for count in here.values()),
        drawn_twice=sum(len(found) - 1 for found in contents.values()),
    )


def _records(topic: Topic) -> Iterator[Record]:
    return chain.from_iterable(topic.values())


def _names(topic: Topic) -> Iterator[bytes]:
    return (name for record in _records(topic) if (name := _name(record)))


def _name(record: Record) -> bytes | None:
    return dict(record.headers).get("fugu-release")


def check_same_entries(disturbed: Iterable[Record], undisturbed: Iterable[Record]) -> None:
    """Demand the same records of a log, each once, in whatever order partitions came to it."""
    here, there = (
        sorted((one.key or b"", one.value or b"") for one in records)
        for records in (disturbed, undisturbed)
    )
    if here != there:
        raise Wrong(f"the internal log holds {len(here)} entries that are not the {len(there)}")
