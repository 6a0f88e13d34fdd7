"""Pipelines whose state is in Kafka: documents, copies within this process, and what counts."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fugu.dataflows.copies.copy import Copy, CopySettings
from fugu.dataflows.copies.instance import merging
from fugu.dataflows.copies.planning import Planned, planned
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.state.state_topic import StateTopic
from tests.faults.feeding import document_with_topics
from tests.kafka.pipelines import Document
from tests.kafka.records import read_topic
from tests.kafka.topics import TopicFactory


def copied_document(
    bootstrap: str, topics: TopicFactory, source: str, *, partitions: int
) -> Document:
    """A pipeline over `source`, with a name and a state topic of its own."""
    document = document_with_topics(bootstrap, topics, source, partitions=partitions)
    name = source.removeprefix("fugu-test-")
    return document | {
        "name": name,
        "kafka": document["kafka"] | {"client": "librdkafka"},
        "state": {"store": "kafka", "every": "200ms", "topic": f"{name}.state"},
        "sink": document["sink"] | {"create": True},
    }


def committed(bootstrap: str, document: Document) -> int:
    """How many releases and dead letters count by now."""
    sink = document["sink"]
    return sum(
        len(records)
        for topic in (sink["topic"], sink["dead_letters"])
        for records in read_topic(bootstrap, topic).values()
    )


@dataclass
class Copies:
    """Copies of one pipeline, without bytewax: a test says what each does, and when."""

    pipeline: Path
    running: list[Copy] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.planned: Planned = planned(PipelineFile.read(self.pipeline), StopFlag(), None)

    def join(self, name: str, change: Callable[[StreamsPlan], StreamsPlan] | None = None) -> Copy:
        """One more copy, which cuts when it is told to."""
        plan = replace(self.planned.plan, stop=StopFlag())
        if change is not None:
            assert isinstance(plan, StreamsPlan)
            plan = change(plan)
        return self._joined(plan, self.planned.state, name)

    def join_merge(self, name: str) -> Copy:
        """One more copy that merges, if the internal log is given to it."""
        assert self.planned.merge is not None
        plan = replace(self.planned.merge, stop=StopFlag())
        return self._joined(plan, self.planned.state.of_merge(), merging(name))

    def _joined(self, plan: Plan, state: StateTopic, name: str) -> Copy:
        settings = _Short(instance=name, every=3600.0)
        copy = Copy(plan, self.planned.client, state, settings)
        self.running.append(copy)
        return copy

    def settle(self, *wanted: int, seconds: float = 30.0) -> None:
        """Step all copies until each owns as many partitions as wanted."""
        deadline = time.monotonic() + seconds
        while [len(copy.owned) for copy in self.running] != [*wanted]:
            assert time.monotonic() < deadline, "the group did not settle"
            for copy in self.running:
                step(copy)
            time.sleep(0.01)

    def close(self) -> None:
        """End all of them, as errors do."""
        for copy in self.running:
            copy.close()


class _Short(CopySettings):
    """Transactions that Kafka ends soon."""

    @property
    def milliseconds(self) -> int:
        return 10_000


def take_in(copy: Copy, position: int, partition: int = 0) -> None:
    """Step a copy until the source is read up to there; nothing is committed."""
    deadline = time.monotonic() + 30
    while copy.owned[partition].position < position:
        assert time.monotonic() < deadline, "records did not come"
        step(copy)


def step(copy: Copy) -> int:
    """Do what bytewax does between two polls; how many batches came."""
    items = copy.next_batch()
    for taken in items:
        made: Any = copy.sanitized(taken, copy.decoded(taken))
        copy.write(taken, copy.published(made))
    return len(items)
