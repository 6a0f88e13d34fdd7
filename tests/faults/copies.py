"""Pipelines whose state is in Kafka: documents, copies within this process, and what counts."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from fugu.dataflows.copies.copy import Copy
from fugu.dataflows.copies.instance import merging
from fugu.dataflows.copies.planning import Planned, planned
from fugu.dataflows.copies.settings import CopySettings
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.client import CopyWriter
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.state.state_topic import StateTopic
from tests.faults.feeding import PARTITIONS, Stream, document_with_topics
from tests.faults.outcomes import Topic, published
from tests.kafka.pipelines import PATIENCE_SECONDS, Document, running, write_pipeline
from tests.kafka.records import Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory

FEW = 20
"""How many records a `House` is fed at once."""


def copied_document(
    bootstrap: str, topics: TopicFactory, source: str, *, partitions: int
) -> Document:
    """A pipeline over `source`, with a name and a state topic of its own."""
    document = document_with_topics(bootstrap, topics, source, partitions=partitions)
    return in_kafka(document | {"name": name_of(source)})


def name_of(source: str) -> str:
    """The name of the only pipeline over a topic of a test."""
    return source.removeprefix("fugu-test-")


def in_kafka(document: Document, every: str = "200ms") -> Document:
    """The same pipeline with its state in Kafka."""
    return document | {
        "kafka": document["kafka"] | {"client": "librdkafka"},
        "state": {"store": "kafka", "every": every, "topic": f"{document['name']}.state"},
        "sink": document["sink"] | {"create": True},
    }


def committed(
    bootstrap: str, document: Document, read: Callable[[str, str], Topic] = read_topic
) -> int:
    """How many releases and dead letters count by now; after a cut, `read` once it is settled."""
    sink = document["sink"]
    return sum(
        len(records)
        for topic in (sink["topic"], sink["dead_letters"])
        for records in read(bootstrap, topic).values()
    )


@contextmanager
def named(name: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("FUGU_INSTANCE", name)
        yield


def on_disk(document: Document, topics: TopicFactory) -> Document:
    """The same pipeline with its state on disk, which publishes the same bytes elsewhere."""
    sink = {
        "topic": topics("undisturbed", partitions=PARTITIONS),
        "dead_letters": topics("undisturbed-dead", partitions=PARTITIONS),
    }
    state = {"directory": "state", "every": "1s"}
    return document | {"state": state, "sink": document["sink"] | sink}


def undisturbed(
    bootstrap: str, document: Document, private: Stream, path: Path
) -> tuple[Topic, Topic]:
    """What one run without faults publishes."""
    with running(write_pipeline(path, document)) as process:
        process.wait_until(lambda: committed(bootstrap, document) == len(private.placed))
        assert process.stop() == 0, process.stderr
    return published(bootstrap, document)


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

    def join_merge(
        self, name: str, change: Callable[[MergingPlan], MergingPlan] = lambda plan: plan
    ) -> Copy:
        """One more copy that merges, if the internal log is given to it."""
        assert self.planned.merge is not None
        plan = change(replace(self.planned.merge, stop=StopFlag()))
        return self._joined(plan, self.planned.state.of_merge(), merging(name))

    def _joined(self, plan: Plan, state: StateTopic, name: str) -> Copy:
        settings = _Short(instance=name, every=3600.0)
        copy = Copy(plan, self.planned.client, state, settings)
        self.running.append(copy)
        return copy

    def settle(self, *wanted: int, seconds: float = PATIENCE_SECONDS) -> None:
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
    deadline = time.monotonic() + PATIENCE_SECONDS
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


def run_to_its_end(copy: Copy) -> None:
    """Step a copy until it leaves by itself."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            step(copy)
        except StopIteration:
            return
        time.sleep(0.01)
    raise AssertionError("the copy did not end")


class House:
    """A pipeline of one partition, whose copies a test leads."""

    def __init__(
        self,
        bootstrap: str,
        topics: TopicFactory,
        path: Path,
        partitions: int,
        sections: Document | None = None,
        **state: Any,
    ) -> None:
        self.bootstrap = bootstrap
        source = topics("private", partitions=partitions)
        self.document: Document = copied_document(bootstrap, topics, source, partitions=partitions)
        self.document = self.document | (sections or {})
        self.document["state"] |= state
        self.source, self.fed = source, 0
        self.copies = Copies(write_pipeline(path, self.document))
        self.state = self.copies.planned.state.topic.name

    def feed(self, count: int = FEW, partitions: Sequence[int] = (0,)) -> int:
        records = [
            Placed(p, Record(b"user-%d" % (n % 7), b'{"zone": "rest"}', timestamp=n + 1))
            for n in range(self.fed, self.fed + count)
            for p in partitions
        ]
        produce(self.bootstrap, self.source, records)
        self.fed += count
        return self.fed

    def released(self, level: str = "read_committed", partition: int = 0) -> list[Record]:
        topic = self.document["sink"]["topic"]
        return read_topic(self.bootstrap, topic, level)[partition]

    def first(self, name: str = "first") -> Copy:
        """A copy that owns everything."""
        copy = self.copies.join(name)
        self.copies.settle(self.copies.planned.plan.fingerprint.partitions)
        return copy

    def successor(self, change: Callable[[StreamsPlan], StreamsPlan] | None = None) -> Copy:
        """Another copy, after all others are gone."""
        self.copies.close()
        self.copies.running.clear()
        copy = self.copies.join("successor", change)
        self.copies.settle(self.copies.planned.plan.fingerprint.partitions)
        return copy

    def open_elsewhere(self, identity: str) -> CopyWriter:
        """What writes under a transactional id and commits nothing."""
        return self.copies.planned.client.copy_writer(identity, 60_000)

    def require_one_outcome_each(self, partition: int = 0) -> None:
        """Every record has one committed release, and nobody ever sees two draws for one."""
        names = [one.headers[0] for one in self.released(partition=partition)]
        assert len(names) == len(set(names)) == self.fed
        seen = set(self.released("read_uncommitted", partition))
        assert seen == set(self.released(partition=partition))
