"""Run the whole pipeline many times on one stream, each run with draws of its own."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.offline.auditing.audited import ROOT, Advance
from fugu.dataflows.offline.auditing.line import Line, Running
from fugu.dataflows.offline.auditing.records.published import PublishedNumbers
from fugu.dataflows.offline.auditing.records.streams import Stream
from fugu.dataflows.offline.auditing.records.subject import Subject
from fugu.operators.mechanism import Array, Floats, State
from fugu.operators.randomness import Secret

Source = Stream | int
"""Hold one stream, or the length of streams that are drawn from the declared model."""

_RUNS_AT_ONCE = 1_000
_FEWEST_AT_ONCE = 64
_BYTES_AT_ONCE = 2**23


@dataclass(frozen=True, eq=False)
class Start:
    """Hold a pipeline and where its streams stand when a run begins.

    Fresh ones have no row; else every run begins with a copy of the row `before`, after so many
    `earlier` records, and all that depends on them is the same.
    """

    line: Line
    subject: Subject
    before: State | None = None
    earlier: int = 0

    def opened(self, secret: Secret, streams: int) -> Running:
        """Return so many streams there."""
        running = self.line.opened(secret, streams, self.earlier)
        if self.before is not None:
            running.stand(self.before)
        return running

    @property
    def runs_at_once(self) -> int:
        """Return how many runs fit into a fast piece of memory, within limits."""
        row = sum(column.nbytes for column in self.line.mechanism.start(1).values())
        return min(_RUNS_AT_ONCE, max(_FEWEST_AT_ONCE, _BYTES_AT_ONCE // max(1, row)))


@dataclass(frozen=True)
class StreamWorld:
    """Run the pipeline on one stream, or on streams drawn from the model; with `finished`, let out
    what is held back after the last record."""

    start: Start
    source: Source
    finished: bool = False

    def seen(self, runs: int, seed: tuple[int, int], advance: Advance) -> Floats:
        """Return what readers of each stream see, shape (runs, columns)."""
        root, rng, found = ROOT.derive(*seed), np.random.default_rng(seed), list[Floats]()
        line = self.start.line
        records = line.pipeline.operator.records_per_release
        numbers = PublishedNumbers(line.configured.codec.domain, records)
        for first in range(0, runs, self.start.runs_at_once):
            rows = min(self.start.runs_at_once, runs - first)
            running = self.start.opened(root.derive(first), rows)
            parts = self._published(running, rng)
            seen = [running.by_stream(part, numbers.rows(part)) for part in parts]
            found.append(np.concatenate(seen, axis=1))
            advance(rows)
        return np.concatenate(found)

    def _published(self, running: Running, rng: np.random.Generator) -> Iterator[Outgoing]:
        for values in self._values(len(running.keys), rng):
            yield running.advance(values)
        if self.finished:
            yield running.finish()

    def _values(self, rows: int, rng: np.random.Generator) -> Iterator[list[object]]:
        """Yield what each record says, place by place, one for each run."""
        content = self.start.line.content
        if isinstance(self.source, tuple):
            for value in self.source:
                yield [None if value is None else content(value)] * rows
            return
        for truth in drawn(self.start.subject, rows, self.source, rng).T:
            known = {value: content(value) for value in np.unique(truth).tolist()}
            yield [known[value] for value in truth.tolist()]


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
