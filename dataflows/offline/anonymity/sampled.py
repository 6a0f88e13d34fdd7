"""Put the windows of a sample together, as the stage and the merge of `fugu run` do."""

from collections.abc import Sequence
from dataclasses import dataclass

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.kinds import AnonymizeOperator
from fugu.dataflows.offline.evaluation.run import RECORDS_PER_BATCH, batches
from fugu.dataflows.offline.evaluation.sample import (
    RefusedLines,
    Sample,
    refused_lines,
    require_times,
    ticks_in,
)
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.stages.windows import WindowPeople, WindowTable
from fugu.dataflows.state.row_table import RowTable


@dataclass(frozen=True, eq=False)
class SampledWindows:
    """Hold the windows of a sample in order, each with people, and what was refused.

    The last windows count as the sample has them: nothing that comes later would close them.
    """

    windows: Sequence[WindowTable]
    dead: DeadLetters

    @classmethod
    def of(
        cls, pipeline: Pipeline, operator: AnonymizeOperator, sample: Sample
    ) -> "SampledWindows":
        """Gather every record, in the order of the lines."""
        require_times(pipeline, "operator.ticks")
        ticks = ticks_in(sample, operator.in_ticks())
        admission = Admission("unchecked", partitions=1, max_keys=pipeline.state.max_keys)
        stage = operator.gathering(admission, ticks)
        table, parts, dead = RowTable(stage.start), list[WindowPeople](), DeadLetters()
        for batch in batches(sample.decoded, RECORDS_PER_BATCH):
            gathered = stage(batch, table)
            parts += gathered.partials
            dead.extend(gathered.dead)
        parts += stage.rest(0, table)
        by_tick: dict[int, list[WindowPeople]] = {}
        for part in parts:
            if part.people:
                by_tick.setdefault(part.tick, []).append(part)
        return cls([WindowTable.of(by_tick[tick]) for tick in sorted(by_tick)], dead)

    def refused(self, sample: Sample) -> list[RefusedLines]:
        """Return which lines were refused, when they were read or later."""
        return [*refused_lines(sample.decoded.dead), *refused_lines(self.dead)]
