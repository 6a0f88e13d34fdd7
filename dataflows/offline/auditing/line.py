"""Advance streams tick by tick, whatever a tick is to their pipeline."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

import orjson

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.flows.sections import end_of
from fugu.dataflows.offline.in_memory import InMemory
from fugu.dataflows.pipeline.mechanisms import Configured, configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.operators.mechanism import Mechanism
from fugu.operators.secret import Secret
from fugu.operators.temporal.temporal_perturbation import End

ROOT = Secret(blake2b(b"fugu audit", digest_size=32).digest())
"""Known to everybody; what is run under it is made up."""
_FIRST_TICK = 1_000_000


@dataclass(frozen=True, eq=False)
class Line:
    """Hold what a pipeline file configures, to be run under secrets that are not its own."""

    file: PipelineFile
    configured: Configured

    @classmethod
    def of(cls, file: PipelineFile) -> "Line":
        """Configure the mechanism and the codec."""
        return cls(file, configure(file))

    @property
    def mechanism(self) -> Mechanism:
        """Return what releases values."""
        return self.configured.mechanism

    @cached_property
    def ticks(self) -> Ticks | None:
        """Return the ticks of event time; None where every record is one."""
        return self.file.pipeline.operator.in_ticks()

    @property
    def end(self) -> End:
        """Return what becomes of values that are held back at the end."""
        return end_of(self.file.pipeline)

    @cached_property
    def clocks(self) -> list[bytes]:
        """Return the keys whose records move stream time."""
        if self.ticks is None:
            return []
        beats = sorted(self.ticks.time.heartbeats)
        return beats or [b"clock %d" % n for n in range(self.ticks.time.distinct_keys)]

    def opened(self, secret: Secret, streams: int) -> "Running":
        """Return the pipeline before its first record, for so many streams."""
        memory = InMemory.of(self.file.pipeline, self.configured, secret)
        return Running(self, memory, [b"stream %d" % number for number in range(streams)])

    def record(self, value: object, time: int, number: int) -> bytes:
        """Return a record with this value in every field that is released."""
        source, timestamp = self.file.pipeline.source, self.configured.codec.timestamp
        document = dict.fromkeys(source.fields, value)
        if timestamp is not None:
            document[timestamp.field] = time // timestamp.milliseconds_per_unit
        if source.dedupe is not None:
            document[source.dedupe.field] = number
        return orjson.dumps(document)


@dataclass(eq=False)
class Running:
    """Run streams of a line, whose keys are published as they are."""

    line: Line
    memory: InMemory
    keys: list[bytes]
    tick: int = field(default=_FIRST_TICK)

    def __post_init__(self) -> None:
        self._begin()

    @cached_property
    def rows(self) -> dict[bytes | None, int]:
        """Return the number of each stream by its key; clocks have none."""
        return {key: row for row, key in enumerate(self.keys)}

    def advance(self, values: Sequence[object]) -> Outgoing:
        """Take in a record of each stream, none where its value is None, and end the tick."""
        there = [number for number, value in enumerate(values) if value is not None]
        keys = [self.keys[number] for number in there]
        contents = [values[number] for number in there]
        ticks, tick = self.line.ticks, self.tick
        self.tick += 1
        if ticks is None:
            return self._fed(keys, contents, tick)
        self._fed(keys, contents, tick * ticks.width)
        return self._close_before(self.tick, ticks)

    def finish(self) -> Outgoing:
        """Let out or drop what is held back, as `fugu run --finish` does; time begins anew."""
        finished = self.memory.finish(self.line.end)
        self.tick += 0 if self.line.ticks is None else self.line.ticks.open
        self._begin()
        return finished

    def restart(self) -> None:
        """Write the state, and go on with what can be read of it."""
        self.memory.restart()

    def _begin(self) -> None:
        if self.line.ticks is not None:
            self._close_before(self.tick, self.line.ticks)

    def _close_before(self, tick: int, ticks: Ticks) -> Outgoing:
        clocks = self.line.clocks
        return self._fed(clocks, [None] * len(clocks), tick * ticks.width + ticks.grace)

    def _fed(self, keys: Sequence[bytes], values: Sequence[object], time: int) -> Outgoing:
        """Hand in records, without a value where there is None; equal ones are written once."""
        line, first = self.line, self.memory.read
        if line.file.pipeline.source.dedupe is None:
            written = {value: line.record(value, time, 0) for value in set(values)}
            contents = [written[value] for value in values]
        else:
            contents = [line.record(value, time, first + n) for n, value in enumerate(values)]
        return self.memory.feed(keys, contents, [time] * len(keys))
