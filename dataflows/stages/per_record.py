"""Release record by record: select records, step a mechanism, and publish in their order."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import DeadLetters, Decoded, Reason, Sanitized, Spending
from fugu.dataflows.base.errors import BudgetExhausted
from fugu.dataflows.base.ticks import TIME
from fugu.dataflows.records.deduplication import Deduplication
from fugu.dataflows.stages.per_tick import CONFIDENCE, TEMPORAL, TickReleases, sanitized_ticks
from fugu.dataflows.stages.stage import StreamStage, end_epochs, holding
from fugu.dataflows.state.row_table import RowTable
from fugu.operators import compiled
from fugu.operators.columns import joined, taken
from fugu.operators.mechanism import (
    Array,
    ExhaustibleMechanism,
    HoldingMechanism,
    Inputs,
    Integers,
    Kind,
    Mechanism,
    Releases,
    Run,
    RunningMechanism,
    State,
    TimedMechanism,
)
from fugu.operators.multi_step import rounds_of_distinct_rows, running
from fugu.operators.randomness import (
    SECRET_BYTES,
    WORTH_HASHING,
    KeyedDraws,
    Secret,
    end_positions,
    record_positions,
)
from fugu.operators.temporal.temporal_perturbation import End, TemporalPerturbation


@dataclass(frozen=True)
class Selection:
    """Hold some of the accepted records of a batch, with the rows of their keys.

    What belongs to a record is a column beside it, never a place in a list: places of one selection
    of records mean other records in another one.

    `batch_rows` has a row for every record of the batch, and `places` are those of the selected
    ones in it.
    """

    batch: Decoded
    batch_rows: Integers
    places: Integers

    @classmethod
    def whole(cls, batch: Decoded, rows: Integers) -> "Selection":
        """Return all records of a batch."""
        return cls(batch, rows, np.arange(len(rows)))

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def records(self) -> Decoded:
        """Return the columns of the selected records."""
        return self.batch.at(self.places)

    @property
    def rows(self) -> Integers:
        """Return the row of each selected record."""
        return self.batch_rows[self.places]

    @property
    def others(self) -> dict[int, int]:
        """Return offset and timestamp of the records of the batch that are not selected."""
        rest = self.batch.at(np.delete(np.arange(len(self.batch_rows)), self.places))
        return dict(zip(rest.offsets, rest.timestamps, strict=True))

    def at(self, places: Integers) -> "Selection":
        """Return some of the selected records, by their places among these."""
        return Selection(self.batch, self.batch_rows, self.places[places])

    def joined(self, others: Sequence["Selection"]) -> "Selection":
        """Return these records and then those of other selections of the same batch."""
        places = [one.places for one in (self, *others)]
        return Selection(self.batch, self.batch_rows, np.concatenate(places))


@dataclass(frozen=True)
class Advanced:
    """Hold records that were released, with a release and a level for each of them.

    The level is the one of its budget that the stream reached with this record, 0 if it has been
    there before.
    """

    selection: Selection
    releases: Releases
    levels: Integers

    def __post_init__(self) -> None:
        if not len(self.selection) == len(self.releases.values) == len(self.levels):
            raise ValueError("a record has exactly one release and one level")

    def at(self, places: Integers) -> "Advanced":
        """Return some of the records, by their places among these."""
        releases = _taken(self.releases, places)
        return Advanced(self.selection.at(places), releases, self.levels[places])


def in_input_order(rounds: Sequence[Advanced]) -> Advanced:
    """Return several rounds over one batch as one."""
    first, *others = (one.selection for one in rounds)
    released = [one.releases for one in rounds]
    together = Advanced(
        first.joined(others),
        Releases(
            np.concatenate([one.values for one in released]),
            joined([one.annotations for one in released]),
            np.concatenate([_kinds(one) for one in released]),
        ),
        np.concatenate([one.levels for one in rounds]),
    )
    return together.at(np.argsort(together.selection.places))


def without(decoded: Decoded, refused: dict[int, Reason]) -> Decoded:
    """Return the records that are not refused; those that are become dead letters."""
    if not refused:
        return decoded
    for index, reason in refused.items():
        decoded.dead.add(decoded.offsets[index], decoded.timestamps[index], reason)
    return decoded.at(np.delete(np.arange(len(decoded.offsets)), list(refused)))


def sanitized(advanced: Advanced) -> Sanitized:
    """Return what is published; records that were not released are duplicates."""
    dead, records = advanced.selection.batch.dead, advanced.selection.records
    for again, timestamp in advanced.selection.others.items():
        dead.add(again, timestamp, Reason.DUPLICATE)
    kinds = _kinds(advanced.releases)
    if (kinds == Kind.STOPPED).any():
        offset = records.offsets[int(np.argmax(kinds == Kind.STOPPED))]
        raise BudgetExhausted(
            f"budget exhausted: the stream of the record at partition {records.partition}, offset "
            f"{offset} cannot pay for another release, and budget.when_exhausted is stop. Nothing "
            "was published for it."
        )
    reached = advanced.at(np.flatnonzero(advanced.levels))
    spent = reached.selection.records
    spending = Spending(list(spent.offsets), spent.timestamps, spent.keys, reached.levels.tolist())
    if (kinds == Kind.SUPPRESSED).any():
        advanced = advanced.at(np.flatnonzero(kinds != Kind.SUPPRESSED))
    shown = advanced.selection.records
    return Sanitized(
        shown.partition,
        shown.offsets,
        shown.timestamps,
        shown.keys,
        replace(advanced.releases, kinds=_kinds(advanced.releases)),
        dead.in_order(),
        spending,
    )


def _taken(releases: Releases, index: Integers) -> Releases:
    """Return some of the releases, whose kinds are known."""
    return Releases(
        releases.values[index], taken(releases.annotations, index), _kinds(releases)[index]
    )


def _kinds(releases: Releases) -> Integers:
    if releases.kinds is not None:
        return releases.kinds
    return np.full(len(releases.values), Kind.FRESH)


_STREAMS_THAT_GROW_A_TABLE = 200
Elapse = Callable[[State, Sequence[int]], State]
"""Brings rows to event times, in milliseconds."""


@dataclass(frozen=True)
class PerRecord(StreamStage):
    """Release every accepted record of a partition, once.

    `step` wants distinct rows, so a batch is cut into rounds: the first occurrence of every key,
    then the second, and so on. Releases go back into input order. A mechanism that `runs` takes the
    whole batch in one call instead, which makes the same of it. How the input was cut into batches
    never shows, because a draw depends on the record's position and a row on its own history only.
    """

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
