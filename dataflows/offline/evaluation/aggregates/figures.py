"""Sum a sample, and run strategies over the partial sums, with the code of `fugu run`.

The sample is one partition. Its partial sums are the same for all strategies, so records go through
once; the merge runs for each strategy and secret.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.kinds import AggregateOperator
from fugu.dataflows.offline.evaluation.run import RECORDS_PER_BATCH, Advance, batches, scope_of
from fugu.dataflows.offline.evaluation.sample import Sample, ticks_in
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.stages.log_entries import PartialSums
from fugu.dataflows.stages.merging import Merging
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import (
    Array,
    Draws,
    Floats,
    Inputs,
    Integers,
    Kind,
    Mechanism,
    Releases,
    State,
)
from fugu.operators.randomness import Secret
from fugu.operators.wevent.allocation import Booleans


@dataclass(frozen=True)
class Exact:
    """Let figures through as they are, with which all strategies are compared; nobody runs it."""

    kind: ClassVar[str] = "exact"
    implementation: ClassVar[int] = 1

    def start(self, rows: int) -> State:
        """Count ticks, as there must be some column."""
        return {"ticks": np.zeros(rows, dtype=np.int64)}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Release without noise."""
        return {"ticks": state["ticks"] + 1}, Releases(inputs.values)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Promise nothing."""
        return ()

    def audit(self) -> Mapping[str, object]:
        """Hide nothing."""
        return {}

    def law_digest(self) -> bytes:
        """Return a constant, as there are no parameters."""
        return bytes(32)


@dataclass(frozen=True, eq=False)
class Figures:
    """Hold what is known of every tick after one run.

    Values are `(ticks, groups)` in units; `published` marks ticks with something new, and `noise`
    is the standard error that is said of each value, in units; NaN where none is.
    """

    values: Array
    published: Booleans
    noise: Floats


@dataclass(frozen=True, eq=False)
class Summed:
    """Hold the sample, bounded and summed: closed ticks in order, and refused records.

    `open_ticks` have contributions and are not closed when the sample ends.
    """

    pipeline: Pipeline
    operator: AggregateOperator
    partials: Sequence[PartialSums]
    dead: DeadLetters
    open_ticks: int

    @classmethod
    def of(cls, pipeline: Pipeline, operator: AggregateOperator, sample: Sample) -> "Summed":
        """Bound every record, in the order of the lines."""
        ticks = ticks_in(sample, operator.in_ticks())
        admission = Admission(
            "unchecked", partitions=1, max_keys=pipeline.state.max_keys, covers=operator.covers
        )
        bounding = operator.summing(ticks, admission)
        table, partials, dead = RowTable(bounding.start), list[PartialSums](), DeadLetters()
        for part in batches(sample.decoded, RECORDS_PER_BATCH):
            bounded = bounding(part, table)
            partials += bounded.partials
            dead.extend(bounded.dead)
        refused = set(dead.offsets)
        came = {
            ticks.of(time)
            for offset, time in zip(sample.decoded.offsets, sample.decoded.timestamps, strict=True)
            if offset not in refused
        }
        return cls(pipeline, operator, partials, dead, len(came - {one.tick for one in partials}))

    @property
    def ticks(self) -> int:
        """Return how many are closed."""
        return len(self.partials)

    @property
    def numbers(self) -> list[int]:
        """Return the numbers of all of them: they follow each other, but for silences."""
        return [one.tick for one in self.partials]

    def truth(self) -> Integers:
        """Return the figures without noise, `(ticks, groups)`, in units."""
        nobody_draws = Secret(bytes(32))
        return np.concatenate([tick.values for tick in self._merged(Exact(), nobody_draws)])

    def released(
        self, mechanism: Mechanism, secret: Secret, advance: Advance = lambda ticks: None
    ) -> Figures:
        """Return what a strategy makes of them; `advance` is told of ticks done."""
        values, published, noise = [], [], []
        for tick in self._merged(mechanism, secret):
            values.append(tick.values)
            published.append(tick.kinds == Kind.FRESH)
            said = np.reshape(tick.annotations["standard_error"], (1, -1))
            noise.append(np.broadcast_to(said, tick.values.shape))
            advance(1)
        return Figures(np.concatenate(values), np.concatenate(published), np.concatenate(noise))

    def _merged(self, mechanism: Mechanism, secret: Secret) -> Iterator[Releases]:
        pipeline = self.pipeline
        scope = scope_of(pipeline, mechanism.kind, mechanism, secret)
        groups = self.operator.group_count
        merge = Merging(mechanism, scope, pipeline.source.topic, partitions=1, groups=groups)
        state = merge.start()
        for partial in self.partials:
            for _, releases in merge.with_plan(state, partial):
                yield releases
