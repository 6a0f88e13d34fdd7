"""Lift a mechanism to batches: the one place that knows both the row table and `Mechanism.step`.

`step` wants distinct rows, so a batch is cut into rounds: the first occurrence of every key, then
the second, and so on. Releases go back into input order. A mechanism that `runs` takes the whole
batch in one call instead, which makes the same of it. How the input was cut into batches never
shows, because a draw depends on the record's position and a row on its own history only.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import DeadLetters, Decoded, Sanitized
from fugu.dataflows.base.errors import BudgetExhausted
from fugu.dataflows.base.ticks import TIME
from fugu.dataflows.records.deduplication import Deduplication
from fugu.dataflows.stages.admission import Admission
from fugu.dataflows.stages.batch_result import (
    NOTHING,
    Advanced,
    in_input_order,
    picked,
    sanitized,
    without,
)
from fugu.dataflows.stages.epoch_end import ended, holding
from fugu.dataflows.stages.tick_releases import TickReleases, sanitized_ticks
from fugu.dataflows.state.row_table import RowTable
from fugu.operators import compiled
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
    WORTH_COMPILING,
    DrawScope,
    KeyedDraws,
    end_positions,
    record_positions,
)
from fugu.operators.secret import SECRET_BYTES, Secret
from fugu.operators.temporal.temporal_perturbation import End, TemporalPerturbation

Elapse = Callable[[State, Sequence[int]], State]
"""Brings rows to event times, in milliseconds."""


@dataclass(frozen=True)
class Lift:
    """One mechanism over the streams of one partition of the topic identified by `source`."""

    mechanism: Mechanism
    scope: DrawScope
    source: str
    admission: Admission
    deduplication: Deduplication | None = None
    _columns: tuple[str, ...] = field(init=False)
    _elapse: Elapse | None = field(init=False)
    _running: RunningMechanism | None = field(init=False)
    ends: ExhaustibleMechanism | None = field(init=False)
    """How rows come to an end, if they do."""
    _holding: HoldingMechanism | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_columns", tuple(self.mechanism.start(0)))
        object.__setattr__(self, "_elapse", passing_time(self.mechanism))
        object.__setattr__(self, "ends", exhaustible(self.mechanism))
        object.__setattr__(self, "_holding", holding(self.mechanism))
        object.__setattr__(
            self, "_running", running(self.mechanism) if self._elapse is None else None
        )

    def start(self, rows: int) -> State:
        """The columns of fresh rows."""
        return row_columns(self.mechanism, self.deduplication)(rows)

    def warm_up(self, values: Array) -> None:
        """Compile what is to be compiled, so that no record waits for it.

        The values are made up; they are released with a key of their own and thrown away.
        """
        if not compiled.available():
            return
        apart = replace(self, scope=replace(self.scope, secret=Secret(bytes(SECRET_BYTES))))
        streams = [b"made up %d" % number for number in range(WORTH_COMPILING)]
        table, count = RowTable(self.start), len(values)
        table.rows_of(streams)
        keys = [streams[number % len(streams)] for number in range(count)]
        with suppress(BudgetExhausted):
            apart(Decoded(0, range(count), [0] * count, keys, values, None, DeadLetters()), table)

    def __call__(self, decoded: Decoded, table: RowTable) -> Sanitized:
        """Release every accepted record, once."""
        accepted, rows = decoded, table.known_rows(decoded.keys)
        if rows is None:
            refused = self.admission.refusals(table, decoded.partition, decoded.keys)
            accepted = without(decoded, refused)
            rows = table.rows_of(accepted.keys)
        advanced = None if self._running is None else self._run(table, rows, accepted)
        if advanced is None:
            advanced = self._rounds(table, rows, accepted)
        holds_back = self._temporal is not None or self._holding is not None
        if holds_back and accepted.keys:
            latest = max(accepted.timestamps)
            table.clock = {TIME: max(latest, table.clock.get(TIME, latest))}
        return sanitized(accepted, advanced)

    def finish(self, partition: int, table: RowTable, end: End) -> Sanitized:
        """Let out what streams hold back, and end their epochs; its time is the latest there was.

        The releases of a stream follow each other, as its ticks do.
        """
        released: list[TickReleases] = []
        if self._holding is not None:
            return self._finish_batches(partition, table, self._holding)
        if self._temporal is not None:
            rows = np.flatnonzero(table.live("tick") > 0)
            state, keys = table.gather(rows), table.keys
            inner = {name: state[name] for name in self._columns}
            names = [keys[row] for row in rows.tolist()]
            draws = partial(self.scope.draws, names)
            after, leaving = ended(self._temporal, inner, end, (self.source, partition), draws)
            table.scatter(rows, {**state, **after})
            times = [table.clock.get(TIME, 0)] * len(names)
            released = [
                TickReleases(names, releases.annotations["tick"].tolist(), times, releases)
                for releases in leaving
            ]
        return sanitized_ticks(partition, released, DeadLetters())

    def _finish_batches(
        self, partition: int, table: RowTable, mechanism: HoldingMechanism
    ) -> Sanitized:
        """Release every batch that is not full; what it lets out depends on the state alone, so a
        replay from the same state lets out the same."""
        rows = np.flatnonzero(mechanism.holding({n: table.live(n) for n in self._columns}))
        state, keys = table.gather(rows), table.keys
        names = [keys[row] for row in rows.tolist()]
        earlier = state["releases"].tolist()
        draws = self.scope.draws(names, end_positions(self.source, partition, earlier))
        inner = {name: state[name] for name in self._columns}
        after, releases = mechanism.finish(inner, draws)
        table.scatter(rows, {**state, **after})
        times = [table.clock.get(TIME, 0)] * len(names)
        finished = TickReleases(names, earlier, times, releases)
        return sanitized_ticks(partition, [finished], DeadLetters(), said=("confidence",))

    @property
    def _temporal(self) -> TemporalPerturbation | None:
        return self.mechanism if isinstance(self.mechanism, TemporalPerturbation) else None

    def _run(self, table: RowTable, rows: Integers, accepted: Decoded) -> Advanced | None:
        """All positions in one call; None where rounds have to find out what is a duplicate.

        A stream that is exhausted for good looks no more for duplicates. Where one has both, an end
        and a duplicate, in one batch, the one depends on the other.
        """
        assert self._running is not None
        distinct, row = np.unique(rows, return_inverse=True)
        state = table.gather(distinct)
        exhausted = self._exhausted(state)
        index: Integers = np.arange(len(rows))
        remembered: State = {}
        if self.deduplication is not None and accepted.events is not None:
            again, remembered = self.deduplication.sifted(state, row, accepted.events, exhausted)
            index = np.flatnonzero(~again)
        inner, chosen = {name: state[name] for name in self._columns}, picked(accepted, index)
        run = self._running.run(inner, row[index], Inputs(chosen.values), self._draws(chosen))
        for column in remembered.values():
            ended = self._exhausted(run.state)
            if (ended & ~exhausted)[row[again]].any():
                return None
            column[ended] = 0
        table.scatter(distinct, {**run.state, **remembered})
        return Advanced(index, run.releases, *self._reached(state, row[index], run))

    def _reached(self, state: State, rows: Integers, run: Run) -> tuple[Integers, Integers]:
        """Positions of a run at which a row reached a new level, and which."""
        ends = self.ends
        if ends is None:
            return NOTHING, NOTHING
        first = ends.level(state)
        higher = np.flatnonzero((ends.level(run.state) > first)[rows])
        by_row = higher[np.argsort(rows[higher], kind="stable")]
        row = rows[by_row]
        level = ends.level({name: column[by_row] for name, column in run.ledger.items()})
        before = first[row]
        same = np.flatnonzero(row[1:] == row[:-1]) + 1
        before[same] = level[same - 1]
        new = np.flatnonzero(level > before)
        return by_row[new], level[new]

    def _rounds(self, table: RowTable, rows: Integers, accepted: Decoded) -> Advanced:
        """Round by round of distinct rows."""
        rounds = []
        for index in rounds_of_distinct_rows(rows):
            row = rows[index]
            state = table.gather(row)
            fresh = ~self._duplicates(state, accepted, index)
            if not fresh.all():
                index, row = index[fresh], row[fresh]
                state = {name: column[fresh] for name, column in state.items()}
            stepped, releases = self._step(state, accepted, index)
            remembered = self._remember(state, stepped, accepted, index)
            table.scatter(row, {**stepped, **remembered})
            level = self._new_level(state, stepped)
            new = np.flatnonzero(level)
            rounds.append(Advanced(index, releases, index[new], level[new]))
        return in_input_order(rounds)

    def _duplicates(self, state: State, decoded: Decoded, index: Integers) -> NDArray[np.bool_]:
        """Events seen before; in a stream that is exhausted for good nobody looks any more."""
        if self.deduplication is None or decoded.events is None:
            return np.zeros(len(index), dtype=bool)
        seen = self.deduplication.seen(state, [decoded.events[i] for i in index])
        return seen & ~self._exhausted(state)

    def _remember(self, state: State, stepped: State, decoded: Decoded, index: Integers) -> State:
        """What is remembered of events; a stream that is exhausted for good forgets them all."""
        if self.deduplication is None or decoded.events is None:
            return {}
        return self.deduplication.remembered(
            state, [decoded.events[i] for i in index], self._exhausted(stepped)
        )

    def _new_level(self, state: State, stepped: State) -> Integers:
        """The level of rows that have just reached it, 0 elsewhere."""
        ends = self.ends
        if ends is None:
            return np.zeros(len(next(iter(state.values()))), dtype=np.int64)
        level = ends.level(stepped)
        return np.where(level > ends.level(state), level, 0)

    def _exhausted(self, state: State) -> NDArray[np.bool_]:
        ends = self.ends
        if ends is None:
            return np.zeros(len(next(iter(state.values()))), dtype=bool)
        return ends.exhausted(state)

    def _step(self, state: State, accepted: Decoded, index: Integers) -> tuple[State, Releases]:
        chosen = picked(accepted, index)
        inner = {name: state[name] for name in self._columns}
        if self._elapse is not None:
            inner = self._elapse(inner, chosen.timestamps)
        return self.mechanism.step(inner, Inputs(chosen.values), self._draws(chosen))

    def _draws(self, chosen: Decoded) -> KeyedDraws:
        positions = record_positions(self.source, chosen.partition, chosen.offsets)
        return self.scope.draws(chosen.keys, positions)


def row_columns(
    mechanism: Mechanism, deduplication: Deduplication | None
) -> Callable[[int], State]:
    """The columns of a row: the mechanism's, and the events seen."""

    def start(rows: int) -> State:
        remembered = {} if deduplication is None else deduplication.start(rows)
        return {**mechanism.start(rows), **remembered}

    return start


def exhaustible(mechanism: Mechanism) -> ExhaustibleMechanism | None:
    """The mechanism, if its streams can come to an end."""
    return mechanism if isinstance(mechanism, ExhaustibleMechanism) else None


def passing_time(mechanism: Mechanism) -> Elapse | None:
    """How rows are brought to event times, if the mechanism is one to which time matters."""
    if not isinstance(mechanism, TimedMechanism) or mechanism.tick_milliseconds is None:
        return None
    elapse, tick = mechanism.elapse, mechanism.tick_milliseconds
    return lambda state, timestamps: elapse(state, np.array(timestamps, dtype=np.int64) // tick)
