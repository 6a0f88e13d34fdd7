"""Run the whole pipeline many times on one stream, each run with draws of its own."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.offline.auditing.audited import Advance
from fugu.dataflows.offline.auditing.records.inputs import InputRecords
from fugu.dataflows.offline.auditing.records.published import PublishedNumbers
from fugu.dataflows.offline.auditing.records.streams import Stream
from fugu.dataflows.offline.auditing.records.subject import Subject
from fugu.dataflows.offline.in_memory import InMemory
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.mechanisms import Configured
from fugu.operators.mechanism import Array, Floats, State, TimedMechanism
from fugu.operators.secret import Secret

Source = Stream | int
"""What is run: one stream, or streams of so many records drawn from the declared model."""

BEGIN = 86_400_000
"""The time of the first record, in milliseconds."""
_SECOND = 1_000
_RUNS_AT_ONCE = 1_000
_FEWEST_AT_ONCE = 64
_BYTES_AT_ONCE = 2**23
ROOT = Secret(blake2b(b"fugu audit", digest_size=32).digest())
"""Known to everybody; what is run under it is made up."""


@dataclass(frozen=True, eq=False)
class Running:
    """Hold a pipeline and where its streams stand when a run begins.

    Fresh ones have no row; else every run begins with a copy of the row `before`, after so many
    `earlier` records, and all that depends on them is the same.
    """

    pipeline: Pipeline
    configured: Configured
    subject: Subject
    before: State | None = None
    earlier: int = 0

    def time(self, record: int) -> int:
        """Return when a record comes, in milliseconds: each takes a step of the model."""
        return BEGIN + (self.earlier + record) * self._step

    @cached_property
    def _step(self) -> int:
        mechanism = self.configured.mechanism
        timed = mechanism if isinstance(mechanism, TimedMechanism) else None
        return (timed and timed.tick_milliseconds) or _SECOND

    def begun(self, secret: Secret, keys: list[bytes]) -> InMemory:
        """Return the pipeline where the runs of these keys begin."""
        running = InMemory.of(self.pipeline, self.configured, secret)
        running.read = self.earlier
        if self.before is not None:
            same = {name: np.repeat(part, len(keys), axis=0) for name, part in self.before.items()}
            running.table.scatter(running.table.rows_of(keys), same)
        return running

    @property
    def runs_at_once(self) -> int:
        """Return how many runs fit into a fast piece of memory, within limits."""
        row = sum(column.nbytes for column in self.configured.mechanism.start(1).values())
        return min(_RUNS_AT_ONCE, max(_FEWEST_AT_ONCE, _BYTES_AT_ONCE // max(1, row)))


@dataclass(frozen=True)
class StreamWorld:
    """Run the pipeline on one stream, or on streams drawn from the model; with `finished`, let out
    what is held back after the last record."""

    running: Running
    source: Source
    finished: bool = False

    def seen(self, runs: int, seed: tuple[int, int], advance: Advance) -> Floats:
        """Return what readers of each stream see, shape (runs, columns)."""
        root, rng = ROOT.derive(*seed), np.random.default_rng(seed)
        numbers, found = self._numbers(), []
        for start in range(0, runs, self.running.runs_at_once):
            rows = min(self.running.runs_at_once, runs - start)
            found.append(self._seen(rows, root.derive(start), numbers, rng))
            advance(rows)
        return np.concatenate(found)

    @property
    def _records(self) -> int:
        return self.source if isinstance(self.source, int) else len(self.source)

    def _numbers(self) -> PublishedNumbers:
        running = self.running
        records = running.pipeline.operator.records_per_release
        return PublishedNumbers(running.configured.codec.domain, records)

    def _seen(
        self, rows: int, secret: Secret, numbers: PublishedNumbers, rng: np.random.Generator
    ) -> Floats:
        records, keys = self._records, [b"%d" % run for run in range(rows)]
        running = self.running.begun(secret, keys)
        seen = np.full((rows, records + self.finished, numbers.width), np.nan)
        fed, contents, places = list[bytes](), list[bytes](), list[int]()
        for place, values in enumerate(self._contents(rows, rng)):
            there = [row for row, value in enumerate(values) if value is not None]
            fed += [keys[row] for row in there]
            contents += [value for value in values if value is not None]
            places += [place] * len(there)
        first = running.read
        times = [self.running.time(place) for place in places]
        published = running.feed(fed, contents, times)
        at = [places[position - first] for position in published.positions]
        _put(seen, published, at, numbers)
        if self.finished:
            end = self.running.pipeline.operator.finishing
            assert end is not None
            published = running.finish(end)
            _put(seen, published, [records] * len(published.keys), numbers)
        return seen.reshape(rows, -1)

    def _contents(self, rows: int, rng: np.random.Generator) -> list[list[bytes | None]]:
        """Return the content of each record, place by place, one for each run."""
        written = InputRecords(self.running.pipeline).written
        time, earlier = self.running.time, self.running.earlier
        if isinstance(self.source, tuple):
            return [
                [None if value is None else written(value, time(place), earlier + place)] * rows
                for place, value in enumerate(self.source)
            ]
        truths = drawn(self.running.subject, rows, self.source, rng)
        contents = list[list[bytes | None]]()
        for place, truth in enumerate(truths.T):
            known = {
                value: written(value, time(place), earlier + place)
                for value in np.unique(truth).tolist()
            }
            contents.append([known[value] for value in truth.tolist()])
        return contents


def drawn(subject: Subject, rows: int, steps: int, rng: np.random.Generator) -> Array:
    """Return streams of so many symbols drawn from the model, `(rows, steps)`."""
    model = subject.model
    assert model is not None
    belief, columns = np.tile(subject.belief[:, None], rows), list[Array]()
    for _ in range(steps):
        reached = np.cumsum(model.marginal(belief), axis=0)[:-1]
        columns.append((reached <= rng.random(rows)).sum(axis=0))
        belief = model.advance(belief, np.eye(model.symbols)[:, columns[-1]])
    return np.stack(columns, axis=1)


def _put(seen: Floats, published: Outgoing, at: list[int], numbers: PublishedNumbers) -> None:
    runs = [int(key) for key in published.keys if key is not None]
    seen[runs, at] = numbers.rows(published)
