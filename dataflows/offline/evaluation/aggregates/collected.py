"""Evaluate counts from private reports: both halves run over the sample, as in `fugu run`.

Beside each other stand mechanisms of LDP-IDS, and reports of single streams whose counts an analyst
would estimate (`pba_ldp` and its kin), all at the same nats per user and window.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from fugu.dataflows.base.batches import DeadLetters, Decoded
from fugu.dataflows.flows.sections import numbers_of, summing_of
from fugu.dataflows.kinds import KINDS, as_kind, kinds_of
from fugu.dataflows.kinds.families.collected import CollectedOperator
from fugu.dataflows.kinds.families.window_reports import WindowReportsOperator
from fugu.dataflows.offline.evaluation.aggregates.family import AggregateFamily, require_ticks
from fugu.dataflows.offline.evaluation.aggregates.figures import Figures, Summed
from fugu.dataflows.offline.evaluation.aggregates.strategies import parse_windows
from fugu.dataflows.offline.evaluation.aggregates.utility import AggregateUtility
from fugu.dataflows.offline.evaluation.candidates import (
    Candidate,
    Grid,
    chosen_epsilons,
    chosen_rivals,
)
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.offline.evaluation.report import Report
from fugu.dataflows.offline.evaluation.run import (
    RECORDS_PER_BATCH,
    Advance,
    batches,
    everybody,
    scope_of,
)
from fugu.dataflows.offline.evaluation.sample import Sample, require_times, ticks_in
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.stages.log_entries import PartialSums
from fugu.dataflows.stages.merging import Merging
from fugu.dataflows.stages.private_reports import PrivateReports
from fugu.dataflows.stages.summing import Summing
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import put, taken
from fugu.operators.estimates.shares import ReportReader
from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.mechanism import Inputs, Integers, Kind, Releases
from fugu.operators.randomness import Secret, tick_position
from fugu.operators.wevent_local.window_reports import WindowReports

ALONE = kinds_of(WindowReportsOperator)
"""Kinds whose users report by themselves, at every tick in which they are there."""
RIVALS = (*kinds_of(CollectedOperator), *ALONE)


@dataclass
class Collected:
    """Take the records of one partition in, and ask its users what the collector asks."""

    stage: PrivateReports
    merge: Merging

    def __post_init__(self) -> None:
        self.table = RowTable(self.stage.start)
        self.state = self.merge.start()
        self.dead = DeadLetters()

    def released(self, batches: Iterable[Decoded]) -> Iterator[tuple[int, Releases]]:
        """Yield ticks and what is released for them."""
        for decoded in batches:
            left: Decoded | None = decoded
            while left is not None:
                made, left, _ = self.stage.advance(left, self.table)
                self.dead.extend(made.dead)
                for partial in made.partials:
                    yield from self.merge(self.state, partial)
                    if (asking := self.merge.asking(self.state)) is not None:
                        self.stage.hear(self.table, asking)


@dataclass(frozen=True, eq=False)
class CollectedFamily(AggregateFamily):
    """Compare mechanisms whose epsilon holds for a user in any window, against the collector."""

    takes: ClassVar = frozenset({"windows"})

    @classmethod
    def planned(cls, file: PipelineFile, sample: Sample, wanted: Wanted) -> Self:
        operator = file.pipeline.operator
        assert isinstance(operator, CollectedOperator)
        require_times(file.pipeline, "operator.ticks")
        own = float(operator.epsilon)
        windows = [operator.window] if wanted.windows is None else parse_windows(wanted.windows)
        rivals = chosen_rivals(operator.kind, wanted.rivals, RIVALS)
        grid = Grid()
        kinds = {
            f"{kind} with window {window}": (kind, window)
            for kind in (operator.kind, *rivals)
            for window in windows
        }

        def made(name: str, epsilon: float) -> Candidate:
            return _candidate(operator, *kinds[name], epsilon)

        grid.add_each(kinds, chosen_epsilons(own, wanted.epsilons), made)
        grid.require_some()
        summed = Summed.of(file.pipeline, operator, sample)
        require_ticks(sample, summed, max(windows), "a window has", ", or smaller --windows")
        return cls(file, sample, grid, summed, (operator.kind, own, operator.window))

    def released(self, candidate: Candidate, secret: Secret, advance: Advance) -> Figures:
        pipeline, operator = self.file.pipeline, self.summed.operator
        mechanism, topic = candidate.mechanism, pipeline.source.topic
        if not isinstance(mechanism, Collector):
            return self._alone(candidate, secret, advance)
        scope = scope_of(pipeline, candidate.kind, mechanism, secret)
        stage = summing_of(operator, mechanism, scope, topic, everybody(self.sample))
        assert isinstance(stage, PrivateReports)
        stage = replace(stage, ticks=ticks_in(self.sample, operator.in_ticks()))
        merge = Merging(mechanism, scope, topic, 1, numbers_of(operator, mechanism))
        found: list[Releases] = []
        records = batches(self.sample.decoded, RECORDS_PER_BATCH)
        for _, releases in Collected(stage, merge).released(records):
            found.append(releases)
            advance(1)
        said = [np.full(one.values.shape, one.annotations["standard_error"]) for one in found]
        return Figures(
            np.concatenate([one.values for one in found]),
            np.concatenate([one.kinds == Kind.FRESH for one in found]),
            np.concatenate(said),
        )

    def _alone(self, candidate: Candidate, secret: Secret, advance: Advance) -> Figures:
        """Estimate counts from reports of single streams, of the users who are there at a tick.

        A report in force counts with the chance of a flipped bit that its own budget gives.
        """
        mechanism, operator = candidate.mechanism, self.summed.operator
        assert isinstance(mechanism, WindowReports)
        scope = scope_of(self.file.pipeline, candidate.kind, mechanism, secret)
        reader, state = ReportReader(mechanism), mechanism.start(len(self._contributions.keys))
        read = reader.start(len(self._contributions.keys))
        values = np.zeros((self.summed.ticks, operator.group_count))
        published, noise = np.zeros(len(values), dtype=bool), np.full(values.shape, np.nan)
        for place, (tick, rows, symbols) in enumerate(self._contributions.ticks):
            if len(rows):
                keys = [self._contributions.keys[row] for row in rows.tolist()]
                position = tick_position(self.file.pipeline.source.topic, tick, partition=0)
                draws = scope.draws(keys, [position] * len(rows))
                some, releases = mechanism.step(taken(state, rows), Inputs(symbols), draws)
                put(state, rows, some)
                before = taken(read, rows)
                after, estimates = reader.read(before, releases)
                put(read, rows, after)
                values[place] = estimates.sum(axis=0)
                published[place] = bool(np.any(releases.kinds == Kind.FRESH))
            advance(1)
        return Figures(values, published, noise)

    @cached_property
    def _contributions(self) -> "Contributed":
        """Return who was there at each tick, as the pipeline bounds records."""
        operator = self.summed.operator
        ticks = ticks_in(self.sample, operator.in_ticks())
        watching = Watching(ticks, operator.group_count, everybody(self.sample))
        table, found = RowTable(watching.start), list[PartialSums]()
        for part in batches(self.sample.decoded, RECORDS_PER_BATCH):
            found += watching(part, table).partials
        closed = {one.tick: (one.tick, *watching.seen.get(one.tick, _NOBODY)) for one in found}
        return Contributed([*closed.values()], list(table.keys))

    def promises(self, report: Report[AggregateUtility]) -> Iterator[str]:
        windows = {row.candidate.window or 0 for row in report.rows}
        which = f"any {max(windows):,} ticks in a row"
        if len(windows) > 1:
            which = (
                "any `window` ticks in a row: rows with the same eps and window promise the same"
            )
        yield (
            f"eps: nats of a user in {which}. Users report privately, so nobody is trusted with "
            "their groups but the part of the pipeline that reads the source; whether a user is "
            "there is not hidden. Aggregates such as pba err far less, and their collector sees "
            "exact sums."
        )
        if any(row.candidate.kind in ALONE for row in report.rows):
            yield (
                f"{', '.join(ALONE)}: every user reports alone, without a collector who asks; "
                "figures are what an analyst estimates from the reports in force of the users who "
                "are there. Their windows count ticks in which a user is there."
            )
        if any(issubclass(KINDS[row.candidate.kind], CollectedOperator) for row in report.rows):
            yield (
                "lbd, lba, lpd, lpa decide one tick ahead, as they run; before their first "
                "publication, and before that of lsp, a figure is an equal part of all users."
            )

    def draw(self, report: Report[AggregateUtility], path: Path) -> None:
        self.picture(report).save_windows(path)


@dataclass(frozen=True)
class Contributed:
    """Hold ticks, with the rows of who was there and their symbols, and the key of every row."""

    ticks: Sequence[tuple[int, Integers, Integers]]
    keys: Sequence[bytes]


_NOBODY = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


@dataclass(frozen=True)
class Watching(Summing):
    """Sum, and remember who contributed what to each tick."""

    seen: dict[int, tuple[Integers, Integers]] = field(default_factory=dict, kw_only=True)

    def _of_tick(self, partition: int, table: RowTable, tick: int) -> list[PartialSums]:
        columns, cell = table.columns, tick % self.ticks.open
        rows = np.flatnonzero(columns["tick"][:, cell] == tick)
        self.seen[tick] = rows, columns["group"][rows, cell].copy()
        return super()._of_tick(partition, table, tick)


def _candidate(operator: CollectedOperator, kind: str, window: int, epsilon: float) -> Candidate:
    if kind in ALONE:
        made: type[WindowReports] | None = KINDS[kind].mechanism_class
        assert made is not None
        return Candidate(
            kind, epsilon, made(operator.group_count, window, epsilon), {}, window=window
        )
    section = as_kind(operator, kind, epsilon=epsilon, window=window)
    settings = section.model_dump(
        include={"epsilon", "window", "oracle"} & section.model_fields_set
    )
    return Candidate(kind, epsilon, section.collected(), settings, window=window)
