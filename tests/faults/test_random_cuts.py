"""Processes that are killed between random batches leave what one batch would, to the last byte.

Records come twice, broken, in the wrong partition and of too many keys. Which batches a process
makes is drawn from a seed: how many records come at once, how many it takes at once, how often it
commits, and where it is killed with -9. What must come out is computed here, from one batch.
"""

import signal
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from kafka import KafkaProducer

from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.publishing.ledger_topic import is_stream_of
from fugu.operators.randomness import Secret
from tests.chaos.outcome import Followed
from tests.conformance.pipelines import MAX_KEYS, PARTITIONS, Built, Sent
from tests.conformance.whole import Given, Outcome, one_cut, whole
from tests.faults.copies import in_kafka, name_of
from tests.faults.feeding import document_with_topics
from tests.faults.outcomes import Topic
from tests.kafka.pipelines import (
    ALPHABET,
    SECRET,
    Document,
    RunningPipeline,
    running,
    write_pipeline,
)
from tests.kafka.records import read_topic
from tests.kafka.topics import TopicFactory
from tests.thinned import first_in_test

Store = Literal["kafka", "disk"]
DEATHS = 3
POINTS: dict[Store, Sequence[str]] = {
    "kafka": [
        "a cut written, no positions",
        "positions sent, no commit",
        "committed, not known",
        "in a restore",
    ],
    "disk": ["published, no snapshot", "sink snapshot taken", "state on its way"],
}
"""Points of `killed_inside`."""
CASES: list[object] = [
    ("kafka", 1),
    ("disk", 1),
    *(("kafka", seed) for seed in range(2, 51)),
    *(("disk", seed) for seed in range(2, 6)),
]


def cut_document(bootstrap: str, topics: TopicFactory, store: Store) -> Document:
    """A pipeline whose budgets end, with a ledger, that recognises events sent twice."""
    source = topics("private", partitions=PARTITIONS)
    made = document_with_topics(bootstrap, topics, source, partitions=PARTITIONS)
    made["name"] = name_of(source)
    made["source"] |= {"partitioner": "murmur2", "dedupe": {"field": "id", "remember": 3}}
    made["operator"] = {"kind": "grr", "alphabet": ALPHABET, "epsilon": 1.0}
    made["budget"] = {"total": 5, "when_exhausted": "repeat"}
    made["sink"]["key"] = "pseudonym"
    made["ledger"] = {"topic": topics("ledger", configs={"cleanup.policy": "compact"})}
    made = in_kafka(made) if store == "kafka" else made
    made["state"]["max_keys"] = PARTITIONS * MAX_KEYS
    return made


@dataclass
class Cutting:
    """Run one pipeline, and draw what it reads and where it dies."""

    folder: Path
    document: Document
    store: Store
    sent: Sequence[Sent]
    producer: KafkaProducer
    followed: Followed
    random: Random
    fed: int = 0
    deaths: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = deque(self.sent)

    def die(self) -> None:
        """Run it until it is killed, within its own code or from outside."""
        point, occurrence = self.random.choice(POINTS[self.store]), self.random.randint(1, 4)
        until = self.random.randint(0, len(self.left) * 2 // 3)
        with running(self._written(), killed=(point, occurrence)) as doomed:
            self._feed(1)
            self._settle(doomed)
            while len(self.left) > until and self._is_alive(doomed):
                self._feed(self.random.choice([1, 2, 3]))
                if self.random.random() < 0.6:
                    self._settle(doomed)
            if doomed.process.poll() is None:
                self._feed(1)
                point = "from outside"
                doomed.kill()
            assert doomed.exit_code() == -signal.SIGKILL, doomed.stderr
        self.deaths.append(point)

    def end(self) -> None:
        """Run it until every record has an outcome."""
        with running(self._written()) as process:
            while self.left:
                self._feed(3)
                self._settle(process)
            self._settle(process)
            assert process.stop() == 0, process.stderr

    def _written(self) -> Path:
        """Write the pipeline file with other batches than before."""
        made = self.document
        made["source"]["max_batch"] = self.random.choice([1, 7, 40, 1_000])
        made["state"]["every"] = self.random.choice(["50ms", "100ms", "300ms"])
        return write_pipeline(self.folder, made)

    def _feed(self, chunks: int) -> None:
        count = sum(self.random.choice([1, 4, 15, 40]) for _ in range(chunks))
        some = [self.left.popleft() for _ in range(min(count, len(self.left)))]
        for one in some:
            self.producer.send(
                self.document["source"]["topic"],
                value=one.value,
                key=one.key,
                partition=one.partition,
                timestamp_ms=one.time,
            )
        self.producer.flush()
        self.fed += len(some)

    def _settle(self, process: RunningPipeline) -> None:
        """Wait until all that was fed has an outcome, or the process is dead."""
        while self._is_alive(process) and self._done() < self.fed:
            pass

    def _is_alive(self, process: RunningPipeline) -> bool:
        return process.process.poll() is None

    def _done(self) -> int:
        return sum(len(part) for topic in self.followed.read_on() for part in topic.values())


@pytest.mark.slow
@pytest.mark.parametrize(("store", "seed"), first_in_test(CASES, 2))
def test_ledger_sink_and_dead_letters_are_those_of_one_batch(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, store: Store, seed: int
) -> None:
    document = cut_document(bootstrap, topics, store)
    file = PipelineFile.read(write_pipeline(tmp_path, document))
    pipeline = Built(file, configure(file))
    sent = pipeline.records(seed)
    sinks = [document["sink"]["topic"], document["sink"]["dead_letters"]]
    with (
        closing(KafkaProducer(bootstrap_servers=bootstrap)) as producer,
        closing(Followed(bootstrap, sinks)) as followed,
    ):
        random = Random(f"{store} {seed}")
        cutting = Cutting(tmp_path, document, store, sent, producer, followed, random)
        for _ in range(DEATHS):
            cutting.die()
        cutting.end()
    source = client_of(file.connection()).topic(document["source"]["topic"])
    assert source is not None
    given = Given(source.identity, Secret(bytes.fromhex(SECRET)))
    wanted = whole(pipeline, given=given).run(one_cut(sent))
    for name, topic in zip(("releases", "dead"), sinks, strict=True):
        assert differing(read_topic(bootstrap, topic), wanted, name) == []
        seen = read_topic(bootstrap, topic, "read_uncommitted")
        assert {p: set(found) for p, found in seen.items()} == {
            p: set(found) for p, found in read_topic(bootstrap, topic).items()
        }
    assert differing(told(bootstrap, document), wanted, "ledger") == []


def told(bootstrap: str, document: Document) -> Topic:
    """Return what the ledger tells of streams, by their partition of the source."""
    [entries] = read_topic(bootstrap, document["ledger"]["topic"]).values()
    return {
        partition: [one for one in entries if is_stream_of(document["name"], partition, one.key)]
        for partition in range(PARTITIONS)
    }


def differing(found: Topic, wanted: Outcome, name: str) -> list[object]:
    """Name the partitions whose records are others, and the place of the first that is."""
    differences = list[object]()
    for partition, records in found.items():
        rows: list[Any] = [(one.key, one.value, one.headers, one.timestamp) for one in records]
        expected = wanted.topics[name, partition]
        if rows != expected:
            pairs = zip(rows, expected, strict=False)
            place = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
            differences.append((name, partition, place, len(rows), len(expected)))
    return differences
