"""Everyday events in random order keep every budget, and release every record once."""

from pathlib import Path
from random import Random

import pytest

from tests.faults.feeding import document_with_topics
from tests.faults.random_days import Days
from tests.faults.random_events import Place, Tail, tail_of
from tests.kafka.pipelines import ALPHABET, MEMORYLESS, SECRET, SECRET_VARIABLE
from tests.kafka.topics import TopicFactory

PARTITIONS = 4


@pytest.mark.acceptance
def test_a_few_random_events_keep_every_budget(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    with tail_of(bootstrap) as consumer:
        days = Days(place_of(bootstrap, topics, tmp_path, Tail(consumer), seed=5))
        for _ in range(6):
            days.event()
    assert days.place.oracle.fresh


def place_of(
    bootstrap: str, topics: TopicFactory, directory: Path, tail: Tail, *, seed: int
) -> Place:
    """Return a pipeline of single records under a budget and with a ledger."""
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source, partitions=PARTITIONS)
    document["operator"] = {"kind": "grr", "alphabet": ALPHABET, "epsilon": 1.0}
    document["budget"] = {"total": 8.0}
    document["source"]["partitioner"] = "murmur2"
    document["sink"]["create"] = True
    document["ledger"] = {"topic": f"{source}.promises", "create": True}
    document["state"] |= {"shards": 2, "every": "200ms"}
    return Place(bootstrap, directory, document, MEMORYLESS, Random(seed), tail, PARTITIONS)
