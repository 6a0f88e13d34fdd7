"""Run a pipeline of any kind from records to what it publishes, in any batches, without Kafka."""

from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from fugu.dataflows.base.batches import Batch, Decoded, Outgoing
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.flows import anonymizing, merging
from fugu.dataflows.flows.sections import numbers_of, reports_spending, stage_of, summing_of
from fugu.dataflows.kinds import AggregateOperator, AnonymizeOperator
from fugu.dataflows.pipeline.guarantee_data import guarantee_id
from fugu.dataflows.publishing.envelope import Pseudonyms, Publisher
from fugu.dataflows.stages.anonymizing import Anonymizing
from fugu.dataflows.stages.log_entries import Entry, read_entry
from fugu.dataflows.stages.merging import Merging
from fugu.dataflows.stages.private_reports import PrivateReports
from fugu.dataflows.stages.stage import Admission, Stage
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import IntegerColumn, column_of
from fugu.operators.keys import Keys
from fugu.operators.randomness import DrawScope, Secret
from tests.conformance.pipelines import MAX_KEYS, PARTITIONS, Built, Sent

Row = tuple[Any, ...]
Cuts = Sequence[Sequence[Sent]]
"""Batches, each of one partition, in the order in which they come."""


@dataclass(frozen=True)
class Given:
    """Name the source as its broker does, and hold the secret of the pipeline."""

    source: str = "identity of the source"
    secret: Secret = field(default_factory=lambda: Secret(bytes(range(32))))


@dataclass
class Outcome:
    """Hold what a pipeline has published, by topic and partition, and the state behind it."""

    topics: defaultdict[tuple[str, int], list[Row]] = field(
        default_factory=lambda: defaultdict(list)
    )
    tables: list[bytes] = field(default_factory=list)

    def publish(self, topic: str, records: Outgoing) -> None:
        """Take in records of a topic."""
        headers = [tuple(one) for one in records.headers]
        columns = records.keys, records.values, headers, records.timestamps
        self.topics[topic, records.partition] += zip(*columns, strict=True)

    def of(self, topic: str) -> list[Row]:
        """Return the records of all partitions of a topic."""
        return [row for (name, _), rows in self.topics.items() if name == topic for row in rows]


def one_cut(sent: Sequence[Sent]) -> Cuts:
    """Return one batch for each partition."""
    return [[one for one in sent if one.partition == home] for home in range(PARTITIONS)]


def random_cuts(sent: Sequence[Sent], seed: int) -> Cuts:
    """Return batches of all sizes, of partitions that come in any order."""
    random, left = Random(seed), [deque(part) for part in one_cut(sent)]
    made = list[list[Sent]]()
    while any(left):
        part = random.choice([one for one in left if one])
        size = random.choice([1, 2, 3, 12, 60])
        made.append([part.popleft() for _ in range(min(size, len(part)))])
    return made


class Whole(ABC):
    """Take batches in, partition by partition."""

    def __init__(
        self, built: Built, restarts: Random | None = None, given: Given | None = None
    ) -> None:
        given = given or Given()
        pipeline, mechanism = built.file.pipeline, built.configured.mechanism
        law, kind = mechanism.law_digest(), pipeline.operator.kind
        self.pipeline, self.mechanism = pipeline, mechanism
        self.source, keys = given.source, Keys.from_root(given.secret)
        self.scope = DrawScope(keys.noise, pipeline.name, kind, pipeline.version, law, keys.epoch)
        self.publisher = Publisher(
            codec=built.configured.codec,
            scope=self.scope,
            source=self.source,
            source_topic=pipeline.source.topic,
            guarantee_id=guarantee_id(mechanism.guarantees()),
            key_policy=pipeline.sink.key,
            pseudonyms=Pseudonyms(keys.pseudonyms, pipeline.sink.topic),
        )
        self.stage = self.stage_with(Admission("murmur2", PARTITIONS, MAX_KEYS))
        self.tables = [self._empty() for _ in range(PARTITIONS)]
        self.outcome, self._read, self._restarts = Outcome(), [0] * PARTITIONS, restarts

    @abstractmethod
    def stage_with(self, admission: Admission) -> Stage[Any]:
        """Return the stage that the pipeline runs."""

    @abstractmethod
    def take_in(self, decoded: Decoded) -> None:
        """Publish what comes of a batch."""

    def run(self, cuts: Cuts) -> Outcome:
        """Take all batches in, with restarts between them, and finish."""
        for number, cut in enumerate(cuts):
            if cut:
                self.take_in(self.publisher.codec.decode(self._batch(cut, columns=number % 2 == 0)))
                if self._restarts is not None and self._restarts.random() < 0.1:
                    self._restart(cut[0].partition)
        if (end := self.pipeline.operator.finishing) is not None:
            for partition, table in enumerate(self.tables):
                self.made(self.stage.finish(partition, table, end))
        for table in self.tables:
            table.clock = dict(sorted(table.clock.items()))  # their order means nothing
            self.outcome.tables.append(table.take_everything())
        return self.outcome

    @abstractmethod
    def made(self, made: Any) -> None:
        """Publish what a stage has made."""

    def dead(self, made: Any) -> None:
        """Publish what a stage has refused."""
        self.outcome.publish("dead", self.publisher.dead_letters(made.partition, made.dead))

    def _batch(self, cut: Sequence[Sent], *, columns: bool) -> Batch:
        """Return records as one client has them or the other one: as columns, or as lists."""
        partition, count = cut[0].partition, len(cut)
        first = self._read[partition]
        self._read[partition] += count
        offsets, times = list(range(first, first + count)), [one.time for one in cut]
        keys, values = [one.key for one in cut], [one.value for one in cut]
        nothing: list[Any] = [[] for _ in cut]
        if not columns:
            return Batch(partition, offsets, times, keys, values, nothing)
        return Batch(
            partition,
            IntegerColumn(column_of(offsets)),
            IntegerColumn(column_of(times)),
            OptionalByteColumn.of(keys),
            OptionalByteColumn.of(values),
            nothing,
        )

    def _restart(self, partition: int) -> None:
        """Write the rows of a partition and read them back."""
        content, self.tables[partition] = self.tables[partition].take_everything(), self._empty()
        self.tables[partition].apply(content)

    def _empty(self) -> RowTable:
        return RowTable(self.stage.start, self.stage.ends)


class Streams(Whole):
    """Release single streams."""

    def stage_with(self, admission: Admission) -> Stage[Any]:
        return stage_of(self.pipeline, self.mechanism, self.scope, self.source, admission)

    def take_in(self, decoded: Decoded) -> None:
        self.made(self.stage(decoded, self.tables[decoded.partition]))

    def made(self, made: Any) -> None:
        self.dead(made)
        self.outcome.publish("releases", self.publisher.releases(made))
        if reports_spending(self.pipeline):
            self.outcome.publish("ledger", self.publisher.spending(made))


class Merged(Whole):
    """Bound what people contribute, and release what all partitions tell of a tick together."""

    def __init__(
        self, built: Built, restarts: Random | None = None, given: Given | None = None
    ) -> None:
        super().__init__(built, restarts, given)
        self.held = [deque[Decoded]() for _ in range(PARTITIONS)]

    def take_in(self, decoded: Decoded) -> None:
        if not isinstance(self.stage, PrivateReports):
            self.made(self.stage(decoded, self.tables[decoded.partition]))
            return
        self.held[decoded.partition].append(decoded)
        self._go_on(decoded.partition)

    def made(self, made: Any) -> None:
        self.dead(made)
        for told in made.partials:
            content = told.encoded()
            self.outcome.topics["log", made.partition].append((content,))
            self.merge(read_entry(content, "log"))

    @abstractmethod
    def merge(self, entry: Entry) -> None:
        """Publish what the next entry of the log releases."""

    def _go_on(self, partition: int) -> None:
        """Take in what is held back, until a tick waits for what its users are asked."""
        assert isinstance(self.stage, PrivateReports)
        held, tick = self.held[partition], None
        while held and tick is None:
            made, left, tick = self.stage.advance(held.popleft(), self.tables[partition])
            if left is not None:
                held.appendleft(left)
            self.made(made)


class Aggregates(Merged):
    """Release figures."""

    def __init__(
        self, built: Built, restarts: Random | None = None, given: Given | None = None
    ) -> None:
        super().__init__(built, restarts, given)
        groups = numbers_of(self._operator, self.mechanism)
        self._merging = Merging(self.mechanism, self.scope, self.source, PARTITIONS, groups)
        self._state = self._merging.start()

    @property
    def _operator(self) -> AggregateOperator:
        assert isinstance(self.pipeline.operator, AggregateOperator)
        return self.pipeline.operator

    def stage_with(self, admission: Admission) -> Stage[Any]:
        return summing_of(self._operator, self.mechanism, self.scope, self.source, admission)

    def merge(self, entry: Entry) -> None:
        ticks, figures = list(self._merging.with_plan(self._state, entry)), self._operator.figures()
        numbering = self._operator.in_ticks()
        released = merging.outgoing(ticks, numbering, figures, self.publisher)
        self.outcome.publish("releases", released)
        if (asking := self._merging.asking(self._state)) is not None:
            assert isinstance(self.stage, PrivateReports)
            for table in self.tables:
                self.stage.hear(table, asking)
            for partition in range(PARTITIONS):
                self._go_on(partition)


class Windows(Merged):
    """Release anonymised windows."""

    def __init__(
        self, built: Built, restarts: Random | None = None, given: Given | None = None
    ) -> None:
        super().__init__(built, restarts, given)
        self._merging: Any = Anonymizing(self.mechanism, self.scope, self.source, PARTITIONS)  # type: ignore[arg-type]
        self._state = self._merging.start()

    @property
    def _operator(self) -> AnonymizeOperator:
        assert isinstance(self.pipeline.operator, AnonymizeOperator)
        return self.pipeline.operator

    def stage_with(self, admission: Admission) -> Stage[Any]:
        return self._operator.gathering(admission)

    def merge(self, entry: Entry) -> None:
        windows = list(self._merging(self._state, entry))
        records = self._operator.records(self.pipeline.source.field)
        ticks = self._operator.in_ticks()
        self.outcome.publish(
            "releases", anonymizing.outgoing(windows, ticks, records, self.publisher)
        )


def whole(built: Built, restarts: Random | None = None, given: Given | None = None) -> Whole:
    """Return a pipeline before its first record."""
    operator = built.file.pipeline.operator
    if not operator.stage.merges:
        return Streams(built, restarts, given)
    shape = Windows if isinstance(operator, AnonymizeOperator) else Aggregates
    return shape(built, restarts, given)
