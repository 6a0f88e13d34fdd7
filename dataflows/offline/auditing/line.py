"""Advance streams tick by tick, whatever a tick is to their pipeline."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
import orjson

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.base.field_paths import placed
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.kinds import AlphabetOperator
from fugu.dataflows.kinds.families.ranges import RangeSection
from fugu.dataflows.offline.in_memory import AT_ONCE, InMemory
from fugu.dataflows.pipeline.config import Pipeline, PipelineFile
from fugu.dataflows.pipeline.mechanisms import Configured, configure
from fugu.operators.mechanism import Floats, Mechanism, State, TimedMechanism
from fugu.operators.randomness import Secret
from fugu.operators.temporal.temporal_perturbation import End

_FIRST_TICK = 1_000_000
_SECOND = 1_000


@dataclass(frozen=True, eq=False)
class Line:
    """Hold what a pipeline file configures, to be run under secrets that are not its own."""

    pipeline: Pipeline
    configured: Configured

    @classmethod
    def of(cls, file: PipelineFile) -> "Line":
        """Configure the mechanism and the codec."""
        return cls(file.pipeline, configure(file))

    @property
    def mechanism(self) -> Mechanism:
        """Return what releases values."""
        return self.configured.mechanism

    @cached_property
    def ticks(self) -> Ticks | None:
        """Return the ticks of event time; None where every record is one."""
        return self.pipeline.operator.in_ticks()

    @property
    def end(self) -> End | None:
        """Return what becomes of values that are held back at the end; None: there are none."""
        return self.pipeline.operator.finishing

    @cached_property
    def step(self) -> int:
        """Return the milliseconds from one tick to the next."""
        if self.ticks is not None:
            return self.ticks.width
        timed = self.mechanism if isinstance(self.mechanism, TimedMechanism) else None
        return (timed and timed.tick_milliseconds) or _SECOND

    @cached_property
    def clocks(self) -> list[bytes]:
        """Return the keys whose records move stream time."""
        if self.ticks is None:
            return []
        beats = sorted(self.ticks.time.heartbeats)
        return beats or [b"clock %d" % n for n in range(self.ticks.time.distinct_keys)]

    def opened(
        self, secret: Secret, streams: int, earlier: int = 0, at_once: int = AT_ONCE
    ) -> "Running":
        """Return the pipeline before its first record, or after so many `earlier` ones.

        It reads so many records `at_once`.
        """
        memory = InMemory.of(self.pipeline, self.configured, secret)
        memory.read = earlier
        keys = [b"stream %d" % number for number in range(streams)]
        running = Running(self, memory, keys, at_once, _FIRST_TICK + earlier)
        running.begin()
        return running

    def content(self, value: int) -> object:
        """Return what a record says of the symbol of this index, or of so many units; None where
        a stream that is absent has none."""
        match self.pipeline.operator:
            case AlphabetOperator() as section:
                absent = self.ticks is not None and value == len(section.alphabet)
                return None if absent else section.alphabet[value]
            case RangeSection() as section:
                return float(Decimal(int(value)) * section.unit)
            case section:
                raise CannotBeAudited(
                    f"fugu audit does not know how to write records for kind {section.kind}. Read "
                    "fugu explain --json, which has its exact numbers"
                )

    def record(self, value: object, time: int, number: int) -> bytes:
        """Return a record with this value in every field that is released."""
        source, timestamp = self.pipeline.source, self.configured.codec.timestamp
        document: dict[str, object] = dict.fromkeys(source.fields, value)
        if timestamp is not None:
            document[timestamp.field] = timestamp.written(time)
        if source.dedupe is not None:
            document[source.dedupe.field] = number
        return orjson.dumps(placed(document))


@dataclass(eq=False)
class Running:
    """Run streams of a line, whose keys are published as they are."""

    line: Line
    memory: InMemory
    keys: list[bytes]
    at_once: int
    tick: int

    @cached_property
    def rows(self) -> dict[bytes | None, int]:
        """Return the number of each stream by its key; clocks have none."""
        return {key: row for row, key in enumerate(self.keys)}

    def begin(self) -> None:
        """Let stream time come to the tick."""
        if self.line.ticks is not None:
            self._close(self.line.ticks)

    def advance(self, values: Sequence[object]) -> Outgoing:
        """Take in a record of each stream, none where its value is None, and end the tick."""
        there = [number for number, value in enumerate(values) if value is not None]
        time = self.tick * self.line.step
        fed = self._fed([self.keys[n] for n in there], [values[n] for n in there], time)
        self.tick += 1
        return fed if self.line.ticks is None else self._close(self.line.ticks)

    def advance_one(self, values: Sequence[object]) -> Outgoing:
        """Take in records of the first stream, of which every one is a tick."""
        times = [(self.tick + place) * self.line.step for place in range(len(values))]
        self.tick += len(values)
        first = self.memory.read
        contents = map(self.line.record, values, times, range(first, first + len(values)))
        return self.memory.feed(self.keys[:1] * len(values), list(contents), times)

    def finish(self) -> Outgoing:
        """Let out or drop what is held back, as `fugu run --finish` does; time begins anew."""
        assert self.line.end is not None
        finished = self.memory.finish(self.line.end)
        self.tick += 0 if self.line.ticks is None else self.line.ticks.open
        self.begin()
        return finished

    def restart(self) -> None:
        """Write the state, and go on with what can be read of it."""
        self.memory.restart()

    def stand(self, row: State) -> None:
        """Let all streams stand where this row does."""
        table, streams = self.memory.table, len(self.keys)
        same = {name: np.repeat(part, streams, axis=0) for name, part in row.items()}
        table.scatter(table.rows_of(self.keys), same)

    def by_stream(self, published: Outgoing, told: Floats) -> Floats:
        """Place what records tell, a row each, at their streams; NaN where there is none."""
        found = np.full((len(self.keys), told.shape[1]), np.nan)
        places = [self.rows.get(key, -1) for key in published.keys]
        there = np.array(places, dtype=np.int64) >= 0
        found[np.array(places, dtype=np.int64)[there]] = told[there]
        return found

    def _close(self, ticks: Ticks) -> Outgoing:
        """Let clocks close all ticks before this one."""
        clocks = self.line.clocks
        return self._fed(clocks, [None] * len(clocks), self.tick * ticks.width + ticks.grace)

    def _fed(self, keys: Sequence[bytes], values: Sequence[object], time: int) -> Outgoing:
        """Hand in records, without a value where there is None; equal ones are written once."""
        line, first = self.line, self.memory.read
        if line.pipeline.source.dedupe is None:
            written = {value: line.record(value, time, 0) for value in set(values)}
            contents = [written[value] for value in values]
        else:
            contents = [line.record(value, time, first + n) for n, value in enumerate(values)]
        return self.memory.feed(keys, contents, [time] * len(keys), self.at_once)
