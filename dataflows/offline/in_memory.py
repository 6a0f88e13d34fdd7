"""Run a pipeline over one partition in memory: records as bytes in, published records out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from fugu.dataflows.base.batches import Batch, DeadLetters, Header, Outgoing
from fugu.dataflows.flows.sections import stage_of
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.guarantee_data import guarantee_id
from fugu.dataflows.pipeline.mechanisms import Configured
from fugu.dataflows.publishing.envelope import Pseudonyms, Publisher
from fugu.dataflows.stages.stage import Admission, StreamStage
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.randomness import DrawScope, Secret
from fugu.operators.temporal.temporal_perturbation import End

AT_ONCE = 10_000


@dataclass
class InMemory:
    """Take records of single streams through codec, stage and publisher, as `fugu run` does.

    Everybody is admitted, and keys are published as they are, so that streams can be told apart.
    """

    stage: StreamStage
    publisher: Publisher
    partition: int = 0
    read: int = 0
    dead: DeadLetters = field(default_factory=DeadLetters)

    def __post_init__(self) -> None:
        self.table = self._empty()

    @classmethod
    def of(
        cls, pipeline: Pipeline, configured: Configured, secret: Secret, streams: int = 1_000_000
    ) -> Self:
        """Return the pipeline before its first record, with room for so many streams."""
        mechanism, name = configured.mechanism, pipeline.name
        law, topic = mechanism.law_digest(), pipeline.source.topic
        scope = DrawScope(secret, name, pipeline.operator.kind, pipeline.version, law)
        admission = Admission("unchecked", 1, streams)
        publisher = Publisher(
            codec=configured.codec.on_plain_json,
            scope=scope,
            source=topic,
            source_topic=topic,
            guarantee_id=guarantee_id(mechanism.guarantees()),
            key_policy="original",
            pseudonyms=Pseudonyms(secret, pipeline.sink.topic),
        )
        return cls(stage_of(pipeline, mechanism, scope, topic, admission), publisher)

    def feed(
        self,
        keys: Sequence[bytes],
        values: Sequence[bytes],
        timestamps: Sequence[int],
        at_once: int = AT_ONCE,
    ) -> Outgoing:
        """Return what is published of records, of which so many are read at once."""
        outgoing = []
        for start in range(0, len(keys), at_once):
            some = slice(start, start + at_once)
            outgoing.append(self._published(keys[some], values[some], timestamps[some]))
        return Outgoing(
            self.partition,
            [key for one in outgoing for key in one.keys],
            [value for one in outgoing for value in one.values],
            [headers for one in outgoing for headers in one.headers],
            [timestamp for one in outgoing for timestamp in one.timestamps],
        )

    def _published(
        self, keys: Sequence[bytes], values: Sequence[bytes], timestamps: Sequence[int]
    ) -> Outgoing:
        offsets = range(self.read, self.read + len(keys))
        self.read += len(keys)
        none: list[list[Header]] = [[] for _ in keys]
        batch = Batch(self.partition, offsets, list(timestamps), [*keys], [*values], none)
        sanitized = self.stage(self.publisher.codec.decode(batch), self.table)
        self.dead.extend(sanitized.dead)
        return self.publisher.releases(sanitized)

    def finish(self, end: End) -> Outgoing:
        """Return what is published after the last record of all streams."""
        return self.publisher.releases(self.stage.finish(self.partition, self.table, end))

    def restart(self) -> None:
        """Write the state and read it back."""
        content, self.table = self.table.take_everything(), self._empty()
        self.table.apply(content)

    def _empty(self) -> RowTable:
        return RowTable(self.stage.start, self.stage.ends)
