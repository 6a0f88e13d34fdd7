"""A seeded stream of private records, and a feeder that keeps a pipeline busy but never done."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from random import Random

from kafka import KafkaConsumer, KafkaProducer

from tests.kafka.pipelines import ALPHABET, Document, pipeline_document
from tests.kafka.records import NOW, Placed, Record, end_offsets
from tests.kafka.topics import TopicFactory

PARTITIONS = 4
USERS = 2_000
BAD_VALUES = [b"", b"{", b"{}", b'{"zone": 1}', b'{"zone": "unknown"}']
CHUNK = 500
AHEAD = 4_000
"""The records that the feeder is ahead of what it sees published: a third of a second."""


@dataclass(frozen=True)
class Stream:
    """Records, and which of them are acceptable."""

    placed: Sequence[Placed]
    good: Sequence[bool]

    def accepted(self, partition: int) -> list[Record]:
        """The records of one partition that must be sanitized, in order."""
        pairs = zip(self.placed, self.good, strict=True)
        return [item.record for item, good in pairs if good and item.partition == partition]

    def refused(self, partition: int) -> int:
        """Return how many records of one partition must become dead letters."""
        pairs = zip(self.placed, self.good, strict=True)
        return sum(item.partition == partition and not good for item, good in pairs)


def stream(records: int, *, seed: int, partitions: int = PARTITIONS) -> Stream:
    """Users keep to their partition, one in 50 records is of one user, one in 50 is bad.

    Timestamps are unique and jump backwards now and then.
    """
    random = Random(seed)
    placed, good = [], []
    for number in range(records):
        user = 0 if random.random() < 0.02 else random.randrange(USERS)
        is_good = random.random() >= 0.02
        value = b'{"zone": "%s"}' % random.choice(ALPHABET).encode()
        record = Record(
            key=b"user-%d" % user,
            value=value if is_good else random.choice(BAD_VALUES),
            timestamp=NOW + (number ^ 7),
        )
        placed.append(Placed(user % partitions, record))
        good.append(is_good)
    return Stream(placed, good)


def document_with_topics(
    bootstrap: str, topics: TopicFactory, source: str, *, partitions: int = PARTITIONS
) -> Document:
    """A pipeline over `source` with sinks of its own, whose output two runs can be compared by."""
    document = pipeline_document(bootstrap, source, topics("sanitized", partitions=partitions))
    document["state"]["every"] = "1s"
    document["sink"] |= {
        "create": False,
        "key": "original",
        "dead_letters": topics("dead", partitions=partitions),
    }
    return document


@dataclass
class PacedFeed:
    """Writes a stream to the source as fast as its outcome appears in the sinks."""

    producer: KafkaProducer
    consumer: KafkaConsumer
    document: Document
    stream: Stream
    fed: int

    def published(self) -> int:
        """Return how many releases and dead letters are there by now."""
        sink = self.document["sink"]
        return sum(
            sum(end_offsets(self.consumer, topic))
            for topic in (sink["topic"], sink["dead_letters"])
        )

    def advance(self) -> int:
        """Feed a chunk if the pipeline has come close; returns how much is published."""
        published = self.published()
        if self.fed - published < AHEAD:
            self.feed(CHUNK)
        return published

    def feed(self, count: int) -> None:
        """Write the next records and wait for their acknowledgement."""
        for item in self.stream.placed[self.fed : self.fed + count]:
            self.producer.send(
                self.document["source"]["topic"],
                value=item.record.value,
                key=item.record.key,
                partition=item.partition,
                timestamp_ms=item.record.timestamp,
            )
        self.producer.flush()
        self.fed = min(self.fed + count, len(self.stream.placed))


@contextmanager
def paced_feed(
    bootstrap: str, document: Document, stream: Stream, *, fed: int = 0
) -> Iterator[PacedFeed]:
    """A feeder for the source of a pipeline, which holds the first `fed` records already."""
    with (
        closing(KafkaProducer(bootstrap_servers=bootstrap, batch_size=131_072)) as producer,
        closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer,
    ):
        yield PacedFeed(producer, consumer, document, stream, fed)
