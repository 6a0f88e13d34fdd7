"""Release record by record: the one place that knows both the row table and `Mechanism.step`.

`step` wants distinct rows, so a batch is cut into rounds: the first occurrence of every key, then
the second, and so on. Releases go back into input order. A mechanism that `runs` takes the whole
batch in one call instead, which makes the same of it. How the input was cut into batches never
shows, because a draw depends on the record's position and a row on its own history only.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import DeadLetters, Decoded, Sanitized
from fugu.dataflows.base.errors import BudgetExhausted
from fugu.dataflows.base.ticks import TIME
from fugu.dataflows.records.deduplication import Deduplication
from fugu.dataflows.stages.batch_result import (
    Advanced,
    Selection,
    in_input_order,
    sanitized,
    without,
)
from fugu.dataflows.stages.epoch_end import end_epochs, holding
from fugu.dataflows.stages.stage import StreamStage
from fugu.dataflows.stages.tick_releases import CONFIDENCE, TEMPORAL, TickReleases, sanitized_ticks
from fugu.dataflows.state.row_table import RowTable
from fugu.operators import compiled
from fugu.operators.columns import taken
from fugu.operators.mechanism import (
    Array,
    ExhaustibleMechanism,
    HoldingMechanism,
    Inputs,
    Integers,
    Mechanism,
    Releases,
    Run,
    RunningMechanism,
    State,
    TimedMechanism,
)
from fugu.operators.multi_step import rounds_of_distinct_rows, running
from fugu.operators.randomness import (
    WORTH_HASHING,
    KeyedDraws,
    end_positions,
    record_positions,
)
from fugu.operators.secret import SECRET_BYTES, Secret
from fugu.operators.temporal.temporal_perturbation import End, TemporalPerturbation

_STREAMS_THAT_GROW_A_TABLE = 200
Elapse = Callable[[State, Sequence[int]], State]
"""Brings rows to event times, in milliseconds."""


@dataclass(frozen=True)
class PerRecord(StreamStage):
    """Release every accepted record of a partition, once."""

    deduplication: Deduplication | None = None

    in_ticks: ClassVar[bool] = False

    @cached_property
    def ends(self) -> ExhaustibleMechanism | None:
        """Return how rows come to an end, if they do."""
        return exhaustible(self.mechanism)

    @cached_property
    def _elapse(self) -> Elapse | None:
        return passing_time(self.mechanism)

    @cached_property
    def _running(self) -> RunningMechanism | None:
        return running(self.mechanism) if self._elapse is None else None

    @cached_property
    def _holding(self) -> HoldingMechanism | None:
        return holding(self.mechanism)

    @cached_property
    def _holds_back(self) -> bool:
        return self._holding is not None or isinstance(self.mechanism, TemporalPerturbation)

    def start(self, rows: int) -> State:
        """Return the columns of fresh rows."""
        return row_columns(self.mechanism, self.deduplication)(rows)

    def warm_up(self, values: Array) -> Sanitized | None:
        """Compile what is to be compiled, so that no record waits for it; return what it made.

        The values are made up; they are released with a key of their own, to be thrown away.
        """
        if not compiled.available():
            return None
        apart = replace(self, scope=replace(self.scope, secret=Secret(bytes(SECRET_BYTES))))
        streams = [b"made up %d" % number for number in range(_STREAMS_THAT_GROW_A_TABLE)]
        table, count = RowTable(self.start), len(values)
        self.admission.refusals(table, 0, streams)
        table.rows_of(streams)
        table.keys_of(np.arange(len(streams)))
        keys = [streams[number % WORTH_HASHING] for number in range(count)]
        with suppress(BudgetExhausted):
            events = None if self.deduplication is None else range(1, count + 1)
            made_up = Decoded(0, range(count), [0] * count, keys, values, events, DeadLetters())
            return apart(made_up, table)
        return None

    def __call__(self, decoded: Decoded, table: RowTable) -> Sanitized:
        """Release every accepted record, in one call for the whole batch if that can be."""
        accepted, rows = decoded, table.known_rows(decoded.keys)
        if rows is None:
            refused = self.admission.refusals(table, decoded.partition, decoded.keys)
            accepted = without(decoded, refused)
            rows = table.rows_of(accepted.keys)
        if self._holds_back and accepted.keys:
            latest = max(accepted.timestamps)
            table.clock = {TIME: max(latest, table.clock.get(TIME, latest))}
        batch = Selection.whole(accepted, rows)
        advanced = self._run(table, batch) or in_input_order(
            [self._round(table, batch.at(places)) for places in rounds_of_distinct_rows(rows)]
        )
        return sanitized(advanced)

    def finish(self, partition: int, table: RowTable, end: End) -> Sanitized:
        """Let out what streams hold back, at the latest time that there was.

        Epochs end, and the releases of a stream follow each other as its ticks do. A batch that is
        not full is released; what it lets out depends on the state alone, so a replay from the same
        state lets out the same.
        """
        time, said, released = table.clock.get(TIME, 0), TEMPORAL, list[TickReleases]()
        if self._holding is not None:
            said, rows = CONFIDENCE, np.flatnonzero(self._holding.holding(self.own(table.columns)))
            state, names = table.gather(rows), table.keys_of(rows)
            earlier = state["releases"].tolist()
            draws = self.scope.draws(names, end_positions(self.source, partition, earlier))
            after, releases = self._holding.finish(self.own(state), draws)
            table.scatter(rows, {**state, **after})
            released = [TickReleases(names, earlier, [time] * len(names), releases)]
        elif isinstance(self.mechanism, TemporalPerturbation):
            rows = np.flatnonzero(table.live("tick") > 0)
            state, names = table.gather(rows), table.keys_of(rows)
            after, leaving = end_epochs(self, self.mechanism, (partition, names), state, end)
            table.scatter(rows, {**state, **after})
            released = [
                TickReleases(names, one.annotations["tick"].tolist(), [time] * len(names), one)
                for one in leaving
            ]
        return sanitized_ticks(partition, released, DeadLetters(), said)

    def _run(self, table: RowTable, batch: Selection) -> Advanced | None:
        """Take all records in one call; None where rounds have to find out what is a duplicate.

        A stream that is exhausted for good looks no more for duplicates. Where one has both, an end
        and a duplicate, in one batch, the one depends on the other.
        """
        if self._running is None:
            return None
        distinct, row = np.unique(batch.rows, return_inverse=True)
        state, remembered, events = table.gather(distinct), State(), batch.records.events
        exhausted, again = self._exhausted(state), np.zeros(len(batch), dtype=bool)
        if self.deduplication is not None and events is not None:
            again, remembered = self.deduplication.sifted(state, row, events, exhausted)
        fresh, its_row = batch.at(np.flatnonzero(~again)), row[~again]
        inputs, draws = Inputs(fresh.records.values), self._draws(fresh.records)
        run = self._running.run(self.own(state), its_row, inputs, draws)
        for column in remembered.values():
            ended = self._exhausted(run.state)
            if (ended & ~exhausted)[row[again]].any():
                return None
            column[ended] = 0
        table.scatter(distinct, {**run.state, **remembered})
        return Advanced(fresh, run.releases, self._levels_in(run, state, its_row))

    def _levels_in(self, run: Run, state: State, rows: Integers) -> Integers:
        """Return the level that a row reached at each position of a run, 0 where it is the same."""
        levels = np.zeros(len(rows), dtype=np.int64)
        if self.ends is None:
            return levels
        first = self.ends.level(state)
        higher = np.flatnonzero((self.ends.level(run.state) > first)[rows])
        by_row = higher[np.argsort(rows[higher], kind="stable")]
        row = rows[by_row]
        level = self.ends.level(taken(run.ledger, by_row))
        before = first[row]
        same = np.flatnonzero(row[1:] == row[:-1]) + 1
        before[same] = level[same - 1]
        levels[by_row] = np.where(level > before, level, 0)
        return levels

    def _round(self, table: RowTable, batch: Selection) -> Advanced:
        """Advance distinct rows by these records, but for events seen before.

        A stream that is exhausted for good forgets all events, and looks for none any more.
        """
        state, remembered = table.gather(batch.rows), State()
        deduplication, events = self.deduplication, batch.records.events
        if deduplication is not None and events is not None:
            fresh = ~deduplication.seen(state, events) | self._exhausted(state)
            batch, state = batch.at(np.flatnonzero(fresh)), taken(state, fresh)
        stepped, releases = self._step(state, batch)
        if deduplication is not None and (events := batch.records.events) is not None:
            remembered = deduplication.remembered(state, events, self._exhausted(stepped))
        table.scatter(batch.rows, {**stepped, **remembered})
        levels = np.zeros(len(batch), dtype=np.int64)
        if self.ends is not None:
            level = self.ends.level(stepped)
            levels = np.where(level > self.ends.level(state), level, 0)
        return Advanced(batch, releases, levels)

    def _step(self, state: State, batch: Selection) -> tuple[State, Releases]:
        chosen, inner = batch.records, self.own(state)
        if self._elapse is not None:
            inner = self._elapse(inner, chosen.timestamps)
        return self.mechanism.step(inner, Inputs(chosen.values), self._draws(chosen))

    def _exhausted(self, state: State) -> NDArray[np.bool_]:
        if self.ends is None:
            return np.zeros(len(next(iter(state.values()))), dtype=bool)
        return self.ends.exhausted(state)

    def _draws(self, chosen: Decoded) -> KeyedDraws:
        positions = record_positions(self.source, chosen.partition, chosen.offsets)
        return self.scope.draws(chosen.keys, positions)


def row_columns(
    mechanism: Mechanism, deduplication: Deduplication | None
) -> Callable[[int], State]:
    """Return what makes the columns of fresh rows: the mechanism's, and the events seen."""

    def start(rows: int) -> State:
        remembered = {} if deduplication is None else deduplication.start(rows)
        return {**mechanism.start(rows), **remembered}

    return start


def exhaustible(mechanism: Mechanism) -> ExhaustibleMechanism | None:
    """Return the mechanism, if its streams can come to an end."""
    return mechanism if isinstance(mechanism, ExhaustibleMechanism) else None


def passing_time(mechanism: Mechanism) -> Elapse | None:
    """Return how rows are brought to event times, if time matters to the mechanism."""
    if not isinstance(mechanism, TimedMechanism) or mechanism.tick_milliseconds is None:
        return None
    elapse, tick = mechanism.elapse, mechanism.tick_milliseconds
    return lambda state, timestamps: elapse(state, np.array(timestamps, dtype=np.int64) // tick)
