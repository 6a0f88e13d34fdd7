"""Killed while it releases batches that are not full, a pipeline repeats and re-draws nothing."""

from collections import Counter
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from kafka import KafkaConsumer

from tests.faults.feeding import document_with_topics
from tests.faults.outcomes import published
from tests.faults.test_temporal_crashes import killed_while_finishing
from tests.kafka.pipelines import ALPHABET, Document, refusal, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce
from tests.kafka.topics import TopicFactory

PARTITIONS, WINDOW, USERS = 2, 3, 40


def readings() -> list[Placed]:
    """One to five records of each user, and last in each partition a batch that is full."""
    users = [(step, user) for step in range(5) for user in range(USERS) if step <= user % 5]
    last = [(5, USERS + partition) for partition in range(PARTITIONS)] * WINDOW
    return [Placed(user % PARTITIONS, reading(step, user)) for step, user in users + last]


def reading(step: int, user: int) -> Record:
    zone = ALPHABET[(step + user) % len(ALPHABET)]
    return Record(b"user-%d" % user, orjson.dumps({"zone": zone}), timestamp=NOW + step)


def whole() -> int:
    """Return how many batches are full before anything is finished."""
    counts = Counter(placed.record.key for placed in readings())
    return sum(count // WINDOW for count in counts.values())


def test_the_end_of_streams_is_released_once(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    pytest.importorskip("scipy")
    source = topics("private", partitions=PARTITIONS)
    produce(bootstrap, source, readings())
    disturbed, undisturbed = (
        document_with_topics(bootstrap, topics, source, partitions=PARTITIONS) for _ in range(2)
    )
    pipelines = []
    for name, document in (("disturbed", disturbed), ("undisturbed", undisturbed)):
        operator = {"kind": "batched_crr", "window": WINDOW, "epsilon_per_batch": 3.0}
        document["operator"] = {**operator, "alphabet": ALPHABET, "model": "model.json"}
        document["operator"]["kernel"] = "heuristic"
        pipelines.append(write_pipeline(tmp_path / name, document))
        stopped_after_whole_batches(bootstrap, pipelines[-1], document)
    here, there = pipelines
    with running(there, "--finish") as run:
        assert run.exit_code() == 0, run.stderr
    killed_while_finishing(here)
    assert "Run it with --finish once more" in refusal(here)
    with running(here, "--finish") as run:
        assert run.exit_code() == 0, run.stderr
    sanitized, dead_letters = published(bootstrap, disturbed)
    assert (sanitized, dead_letters) == published(bootstrap, undisturbed)
    records = [record for partition in sanitized.values() for record in partition]
    lengths = Counter(len(orjson.loads(record.value or b"")["zone"]) for record in records)
    assert lengths == {3: whole(), 1: 2 * USERS // 5, 2: 2 * USERS // 5}
    assert len({record.headers[0] for record in records}) == len(records)


def stopped_after_whole_batches(bootstrap: str, pipeline: Path, document: Document) -> None:
    sink = document["sink"]["topic"]
    with running(pipeline) as run, closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        run.wait_until(lambda: sum(end_offsets(consumer, sink)) >= whole())
        assert run.stop() == 0, run.stderr
