"""Run streams through the very parts of `fugu run`, from bytes of records to bytes of releases."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

import orjson

from fugu.dataflows.base.batches import Batch, Outgoing, Sanitized
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.flows.sections import stage_of
from fugu.dataflows.pipeline.guarantee_data import guarantee_id
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.publishing.envelope import Pseudonyms, Publisher
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.stages.admission import Admission
from fugu.dataflows.stages.stage import StreamStage
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Mechanism
from fugu.operators.randomness import DrawScope
from fugu.operators.secret import Secret
from fugu.operators.temporal.temporal_perturbation import End

ROOT = Secret(blake2b(b"fugu audit", digest_size=32).digest())
"""Known to everybody; what is run under it is made up."""
_FIRST_TICK = 1_000_000
_EVERYBODY = Admission("unchecked", partitions=1, max_keys=2**40)


@dataclass(frozen=True, eq=False)
class Line:
    """Hold what a pipeline file configures, to be run under secrets that are not its own."""

    file: PipelineFile
    mechanism: Mechanism
    codec: Codec

    @classmethod
    def of(cls, file: PipelineFile) -> "Line":
        """Configure the mechanism and the codec."""
        configured = configure(file)
        return cls(file, configured.mechanism, configured.codec)

    @cached_property
    def ticks(self) -> Ticks | None:
        """Return the ticks of event time; None where every record is one."""
        return self.file.pipeline.operator.in_ticks()

    @cached_property
    def _clocks(self) -> list[bytes]:
        """Return the keys whose records move stream time."""
        if self.ticks is None:
            return []
        beats = sorted(self.ticks.time.heartbeats)
        return beats or [b"clock %d" % n for n in range(self.ticks.time.distinct_keys)]

    def opened(self, secret: Secret, streams: int) -> "Running":
        """Return the pipeline before its first record, for so many streams."""
        pipeline, mechanism = self.file.pipeline, self.mechanism
        scope = DrawScope(
            secret, pipeline.name, mechanism.kind, pipeline.version, mechanism.law_digest()
        )
        topic = pipeline.source.topic
        stage = stage_of(pipeline, mechanism, scope, topic, _EVERYBODY)
        publisher = Publisher(
            codec=self.codec,
            scope=scope,
            source=topic,
            source_topic=topic,
            guarantee_id=guarantee_id(mechanism.guarantees()),
            key_policy=pipeline.sink.key,
            pseudonyms=Pseudonyms(secret, pipeline.sink.topic),
        )
        keys = [b"stream %d" % number for number in range(streams)]
        return Running(self, stage, publisher, keys, self._clocks)

    def content(self, value: object, time: int) -> dict[str, object]:
        """Return a record with this value in every field that is released."""
        document = dict.fromkeys(self.file.pipeline.source.fields, value)
        timestamp = self.codec.timestamp
        if timestamp is not None:
            document[timestamp.field] = time // timestamp.milliseconds_per_unit
        return document


@dataclass(eq=False)
class Running:
    """Advance streams tick by tick; `opened` by a line."""

    line: Line
    stage: StreamStage
    publisher: Publisher
    keys: list[bytes]
    clocks: list[bytes]
    offset: int = 0
    tick: int = _FIRST_TICK
    table: RowTable = field(init=False)

    def __post_init__(self) -> None:
        self.table = RowTable(self.stage.start, self.stage.ends)
        self._begin()

    @cached_property
    def rows(self) -> dict[bytes, int]:
        """Return the number of each stream by its key; clocks have none."""
        return {key: row for row, key in enumerate(self.keys)}

    def advance(self, values: Sequence[object]) -> Sanitized:
        """Take in a record of each stream, none where its value is None, and end the tick."""
        there = [number for number, value in enumerate(values) if value is not None]
        keys = [self.keys[number] for number in there]
        contents = [values[number] for number in there]
        ticks = self.line.ticks
        time = self.tick * (1 if ticks is None else ticks.width)
        self.tick += 1
        if ticks is None:
            return self._taken(keys, contents, time)
        self._taken(keys, contents, time)
        return self._taken(self.clocks, [None] * len(self.clocks), time + ticks.width + ticks.grace)

    def finish(self, end: End) -> Sanitized:
        """Let out or drop what is held back, as `fugu run --finish` does; time begins anew."""
        finished = self.stage.finish(0, self.table, end)
        self.tick += 0 if self.line.ticks is None else self.line.ticks.open
        self._begin()
        return finished

    def restart(self) -> None:
        """Write the state, and go on with what can be read of it."""
        stored = self.table.take_everything()
        self.table = RowTable(self.stage.start, self.stage.ends)
        self.table.apply(stored)

    def published(self, sanitized: Sanitized) -> Outgoing:
        """Return the complete records of the sanitized topic."""
        return self.publisher.releases(sanitized)

    def _begin(self) -> None:
        """Let stream time come to the tick that is next."""
        if self.line.ticks is not None:
            time = self.tick * self.line.ticks.width + self.line.ticks.grace
            self._taken(self.clocks, [None] * len(self.clocks), time)

    def _taken(self, keys: Sequence[bytes], values: Sequence[object], time: int) -> Sanitized:
        """Read records and hand them to the stage, without a value where there is None."""
        written: dict[object, bytes] = {}
        dedupe = self.line.file.pipeline.source.dedupe
        contents: list[bytes | None] = []
        for number, value in enumerate(values):
            if dedupe is not None:
                document = self.line.content(value, time)
                document[dedupe.field] = self.offset + number
                contents.append(orjson.dumps(document))
                continue
            if value not in written:
                written[value] = orjson.dumps(self.line.content(value, time))
            contents.append(written[value])
        offsets = range(self.offset, self.offset + len(keys))
        self.offset += len(keys)
        count = len(keys)
        batch = Batch(0, offsets, [time] * count, list(keys), contents, [[]] * count)
        return self.stage(self.line.codec.decode(batch), self.table)
