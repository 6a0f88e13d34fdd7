"""A pipeline over all users, run twice: undisturbed, and in shards that are killed now and then."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from kafka import KafkaConsumer

from tests.faults.feeding import PARTITIONS, document_with_topics
from tests.kafka.pipelines import Document, RunningPipeline, running, write_pipeline
from tests.kafka.records import Placed, end_offsets, produce
from tests.kafka.topics import TopicFactory

SHARDS, KILLS = 3, 5
WAITED_FOR = 0.5
"""The share of possible outcomes to wait for: others may wait for records that close ticks."""


@dataclass(frozen=True)
class Whole:
    """Hold how many records there are when everything has come out."""

    released: int
    refused: int
    partials: int


def killed_and_undisturbed(
    bootstrap: str,
    topics: TopicFactory,
    folder: Path,
    placed: Sequence[Placed],
    operator: Mapping[str, Any],
    whole: Whole,
    *,
    value: str = "zone",
    key: str = "original",
    kills: int = KILLS,
) -> tuple[Document, Document]:
    """Run both until everything has come out; returns both pipelines, the killed one first.

    Records come in parts, and there is a kill after each but the last, so that none comes too late.
    """
    source = topics("source", partitions=PARTITIONS)
    ends = [part * len(placed) // (kills + 1) for part in range(kills + 2)]
    parts = [placed[begin:end] for begin, end in pairwise(ends)]
    killed, undisturbed = (
        aggregate_document(bootstrap, topics, source, operator) for _ in range(2)
    )
    for document in (killed, undisturbed):
        document["source"]["value"], document["sink"]["key"] = value, key
    here = write_pipeline(folder / "killed", killed)
    there = write_pipeline(folder / "undisturbed", undisturbed)
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:

        def released_by(of: Document) -> int:
            return sum(end_offsets(consumer, of["sink"]["topic"]))

        def done(of: Document) -> bool:
            refused = sum(end_offsets(consumer, of["sink"]["dead_letters"]))
            return released_by(of) >= whole.released and refused == whole.refused

        def reached(partials: int) -> bool:
            return sum(end_offsets(consumer, killed["sink"]["partials"])) >= partials

        random = Random(99)
        with running(there) as alone, ExitStack() as stack:
            shards = [stack.enter_context(_shard(here, number)) for number in range(SHARDS)]
            for kill in range(1, kills + 1):
                produce(bootstrap, source, parts[kill - 1])
                victim = random.randrange(SHARDS)
                target = int(WAITED_FOR * whole.partials * kill / (kills + 1))
                shards[victim].wait_until(partial(reached, target))
                shards[victim].kill()
                shards[victim] = stack.enter_context(_shard(here, victim))
            produce(bootstrap, source, parts[kills])
            shards[0].wait_until(lambda: done(killed))
            alone.wait_until(lambda: done(undisturbed))
            alone.wait_until(lambda: released_by(killed) == released_by(undisturbed))
            assert [process.stop() for process in (*shards, alone)] == [0] * (SHARDS + 1)
    return killed, undisturbed


def aggregate_document(
    bootstrap: str, topics: TopicFactory, source: str, operator: Mapping[str, Any]
) -> Document:
    """A pipeline over `source` with sinks of its own, by the time that records hold."""
    made = document_with_topics(bootstrap, topics, source)
    made["source"] |= {"timestamp": {"field": "at", "format": "epoch-ms"}}
    made["operator"] = dict(operator)
    made["sink"] |= {"topic": topics("counts"), "partials": topics("partials")}
    made["state"] |= {"every": "200ms", "shards": SHARDS}
    return made


def _shard(pipeline: Path, number: int) -> AbstractContextManager[RunningPipeline]:
    return running(pipeline, "--shard", f"{number}/{SHARDS}")
