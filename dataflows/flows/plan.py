"""Describe a dataflow before it runs: everything that it is made of, resolved and checked."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import bytewax.operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.operators import KeyedStream

from fugu.dataflows.base.batches import Batch, Outgoing
from fugu.dataflows.base.errors import without_values
from fugu.dataflows.base.metrics import Metrics
from fugu.dataflows.kafka.client import Client, Reader
from fugu.dataflows.kafka.passing_reader import PassingReader
from fugu.dataflows.kafka.sink import KafkaSink, ReleaseIds, Shared, require_sink_offset
from fugu.dataflows.kafka.source import KafkaSource, StopFlag, part_name, require_source_offset
from fugu.dataflows.publishing.envelope import Publisher
from fugu.dataflows.publishing.lease import Leases, unit_of
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.recovery import Resuming, resuming
from fugu.dataflows.state.row_log import require_whole
from fugu.dataflows.state.same_topics import SameTopics
from fugu.dataflows.state.state_topic import StateTopic
from fugu.dataflows.state.writes_beside import WritesBeside
from fugu.operators.temporal.temporal_perturbation import End

DEAD_LETTER_SINK = "dead_letter_sink"


@dataclass(frozen=True)
class Shard:
    """Hold the dataflow of one shard, where its source stands, and where it writes to."""

    dataflow: Dataflow
    source: KafkaSource
    sinks: tuple[KafkaSink, ...]

    @property
    def stopped_at(self) -> dict[int, int] | None:
        """Return the source offsets to be read next.

        None while releases of before are still awaited: the shard stopped, but as after a crash, a
        replay has to go on.
        """
        caught_up = all(sink.has_caught_up(self.source.waiting) for sink in self.sinks)
        return self.source.positions if caught_up else None


@dataclass(frozen=True)
class Output:
    """Say how one topic is written: the records of an item, and what names them.

    `step` makes records, `sink_step` writes them; `begin` is as a fingerprint holds it. The last
    two are those of `KafkaSink`.
    """

    step: str
    sink_step: str
    records: Callable[[Any], Outgoing]
    topic: str
    begin: dict[str, int]
    release_ids: ReleaseIds | None = None
    shared: Shared | None = None


@dataclass(frozen=True, kw_only=True)
class Plan(ABC):
    """Hold what dataflows of every shape have in common; a subclass adds what its shape needs.

    Step names never change, because bytewax identifies state by them.
    """

    name: str
    publisher: Publisher
    client: Client
    home: StateDirectory | StateTopic
    fingerprint: Fingerprint
    max_batch: int
    stop: StopFlag
    finishing: End | None = None
    metrics: Metrics = field(default_factory=Metrics)
    leases: Leases | None = None
    writes: WritesBeside = field(default_factory=WritesBeside, init=False)

    steps: ClassVar[list[str]]
    """Names of all steps that are always there, as fingerprints hold them."""
    suffix: ClassVar[str] = ""
    """Tells the dataflow from others of the same pipeline."""
    stage_step: ClassVar[str] = ""
    """The step that keeps rows, if there is one."""
    reads_source: ClassVar[bool] = False
    """Say whether its source is that of the pipeline."""
    shares_sink: ClassVar[bool] = False
    """Say whether every partition finds its own records among those of others."""

    @property
    def directory(self) -> StateDirectory:
        """Return the directory of a state on disk."""
        if not isinstance(self.home, StateDirectory):
            raise TypeError("a state in Kafka has no directory")
        return self.home

    @cached_property
    def same_topics(self) -> SameTopics:
        """Return what refuses to commit anything once topics are other ones."""
        return self.as_at_the_start()

    def as_at_the_start(self, **patience: float) -> SameTopics:
        """Return the same, for another thread."""
        home = self.home.topic if isinstance(self.home, StateTopic) else None
        return SameTopics(self.client, self.fingerprint, home, **patience)

    @property
    def written_log(self) -> str | None:
        """Return the internal log of an aggregate, if this dataflow writes to it."""
        return self.fingerprint.sink_topic if self.shares_sink else None

    @property
    def reads_headers(self) -> bool:
        """Return whether headers of its source are looked at."""
        return False

    def reader(self, topic: str) -> Reader:
        """Return what reads the source, or another topic in its place, which nobody else writes."""
        reader = self.client.reader(topic, headers=self.reads_headers)
        return PassingReader(topic, reader) if self.reads_source else reader

    def is_ready(self, batch: Batch) -> bool:
        """Return whether a batch of the source can be taken at once."""
        return True

    @abstractmethod
    def items(self, batches: Stream[Batch]) -> KeyedStream[Any]:
        """Add the steps between the source and the outputs."""

    @abstractmethod
    def outputs(self) -> list[Output]:
        """Return the topics that are written."""

    def build(self) -> Shard:
        """Return the dataflow, from the source over `items` to all `outputs`."""
        begin, topic = offsets_of(self.fingerprint.source_begin), self.fingerprint.source_topic
        into, unit = self.fingerprint.sink_topic, self.directory.path.name
        owner = f"{self.name}.{into}.{unit}"
        writer = self.client.writer(owner)
        flow = Dataflow(self._flow)
        source = self.source(topic, begin, self.reader(topic))
        source.require_held = self._require_held
        source.require_same = self.same_topics.require_after_a_pause
        source.is_ready = self.is_ready
        items, sinks = self.items(op.input(self.steps[0], flow, source)), list[KafkaSink]()
        for output in self.outputs():
            sink = KafkaSink(
                self.client,
                writer,
                output.topic,
                offsets_of(output.begin),
                output.release_ids,
                self.metrics,
                output.shared,
                self._wait,
                None if sinks else source.times,
                owner,
                self._is_stopped,
                self.same_topics.require,
                source.resumed,
            )
            op.output(output.sink_step, op.map_value(output.step, items, output.records), sink)
            sinks.append(sink)
        return Shard(flow, source, tuple(sinks))

    def _is_stopped(self) -> bool:
        """Return whether nothing is published any more; who finishes is asked to stop, and does."""
        return self.stop.requested and self.finishing is None

    def require_resumable(self) -> None:
        """Raise what resuming would refuse: topics that lost what it goes on with.

        A start looks before it notes that it has begun, so a graceful stop stays one.
        """
        if self.directory.is_empty:
            return
        self.directory.require_startable(self.finishing)
        resumes, flow = resuming(self.directory.recovery), self._flow
        begin, topic = offsets_of(self.fingerprint.source_begin), self.fingerprint.source_topic
        with closing(self.client.reader(topic)) as reader:
            for partition, bounds in reader.bounds(sorted(begin)).items():
                offset = resumes.offsets.get((f"{flow}.{self.steps[0]}", part_name(partition)))
                at = begin[partition] if offset is None else offset
                require_source_offset(topic, partition, at, bounds)
        for output in self.outputs():
            self._require_recognisable(output, resumes)

    def resumes_at(self, output: Output) -> dict[int, int]:
        """Return the offsets of a topic behind which no snapshot knows what was published."""
        begins = offsets_of(output.begin)
        if self.directory.is_empty:
            return begins
        offsets, step = resuming(self.directory.recovery).offsets, self._step_of(output)
        return {part: offsets.get((step, part_name(part)), begin) for part, begin in begins.items()}

    def _step_of(self, output: Output) -> str:
        return f"{self._flow}.{output.sink_step}"

    def require_whole_rows(self) -> None:
        """Raise what reading the rows would refuse; the whole log is read."""
        if self.directory.is_empty:
            return
        for (step, _), pointer in resuming(self.directory.recovery).pointers.items():
            if step == f"{self._flow}.{self.stage_step}":
                require_whole(self.directory.rows, pointer)

    def _require_recognisable(self, output: Output, resumes: Resuming) -> None:
        begins, shared = offsets_of(output.begin), output.shared
        places = {source: source % shared.partitions if shared else source for source in begins}
        with closing(self.client.reader(output.topic)) as reader:
            bounds = reader.bounds(sorted(set(places.values())))
        for source, place in places.items():
            offset = resumes.offsets.get((self._step_of(output), part_name(source)))
            start = begins[source] if offset is None else offset
            require_sink_offset(output.topic, place, start, bounds[place])

    @property
    def _flow(self) -> str:
        return flow_name(f"{self.name}{self.suffix}")

    @property
    def unit(self) -> str:
        """Return what leases call it: its directory, and the sink that it goes into."""
        return unit_of(self.directory, self.fingerprint.sink_identity)

    def _wait(self) -> None:
        self.writes.wait()
        self._require_held()

    def _require_held(self) -> None:
        if self.leases is not None:
            self.leases.require_held(self.unit)

    def source(self, topic: str, begin: dict[int, int], reader: Reader) -> KafkaSource:
        """Return the source."""
        return KafkaSource(topic, begin, reader, self.max_batch, self.stop, self.metrics)

    def dead_letters(
        self, records: Callable[[Any], Outgoing], shared: Shared | None = None
    ) -> Output:
        """Return the output of refused records."""
        return Output(
            "dead_letters",
            DEAD_LETTER_SINK,
            records,
            self.fingerprint.dead_letters_topic,
            self.fingerprint.dead_letters_begin,
            self.publisher.dead_letter_ids,
            shared,
        )

    def without_values(
        self, step: str, partition: int, offsets: Sequence[int]
    ) -> AbstractContextManager[None]:
        """Name the place of an unexpected exception, not the values it met."""
        return without_values(step, self.fingerprint.source_topic, partition, offsets)


def require_held_now(plans: Iterable[Plan]) -> None:
    """Raise `TakenOver` if another process has claimed one of the states by now."""
    for plan in plans:
        if plan.leases is not None:
            plan.leases.require_held(plan.unit, now=True)


def flow_name(name: str) -> str:
    """Return the name of a dataflow, as the recovery store has it."""
    return name.replace(".", "_")


def offsets_of(offsets: dict[str, int]) -> dict[int, int]:
    """Return offsets by partition, from how a fingerprint holds them."""
    return {int(partition): offset for partition, offset in offsets.items()}
