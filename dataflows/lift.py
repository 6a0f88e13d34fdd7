"""Lift a mechanism to batches: the one place that knows both the row table and `Mechanism.step`.

`step` wants distinct rows, so a batch is cut into rounds: the first occurrence of every key, then
the second, and so on. Releases go back into input order. How the input was cut into batches never
shows, because a draw depends on the record's position and a row on its own history only.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dataflows.admission import Admission
from dataflows.batches import DeadLetters, Decoded, Reason, Sanitized, Spending
from dataflows.deduplication import Deduplication
from dataflows.epoch_end import ended
from dataflows.errors import FuguError
from dataflows.state.row_table import RowTable
from dataflows.tick_releases import TickReleases, sanitized_ticks
from dataflows.ticks import TIME
from operators.mechanism import (
    Array,
    ExhaustibleMechanism,
    Inputs,
    Integers,
    Kind,
    Mechanism,
    Releases,
    State,
    TimedMechanism,
)
from operators.randomness import DrawScope, record_positions
from operators.temporal.temporal_perturbation import End, TemporalPerturbation

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "_columns", tuple(self.mechanism.start(0)))
        object.__setattr__(self, "_elapse", passing_time(self.mechanism))

    @property
    def ends(self) -> ExhaustibleMechanism | None:
        """How rows come to an end, if they do."""
        return exhaustible(self.mechanism)

    def start(self, rows: int) -> State:
        """The columns of fresh rows."""
        return row_columns(self.mechanism, self.deduplication)(rows)

    def __call__(self, decoded: Decoded, table: RowTable) -> Sanitized:
        """Release every accepted record, once."""
        refused = self.admission.refusals(table, decoded.partition, decoded.keys)
        accepted = [i for i in range(len(decoded.keys)) if i not in refused]
        rows = table.rows_of([decoded.keys[i] for i in accepted])
        indices = np.array(accepted, dtype=np.int64)
        rounds, levels = [], []
        for chosen in rounds_of_distinct_rows(rows):
            index, row = indices[chosen], rows[chosen]
            state = table.gather(row)
            duplicate = self._duplicates(state, decoded, index)
            if duplicate.any():
                refused.update(dict.fromkeys(index[duplicate].tolist(), Reason.DUPLICATE))
                index, row = index[~duplicate], row[~duplicate]
                state = {name: column[~duplicate] for name, column in state.items()}
            stepped, releases = self._step(state, decoded, index)
            remembered = self._remember(state, stepped, decoded, index)
            table.scatter(row, {**stepped, **remembered})
            rounds.append((index, releases))
            levels.append((index, self._new_level(state, stepped)))
        if self._temporal is not None and accepted:
            latest = max(decoded.timestamps[i] for i in accepted)
            table.clock = {TIME: max(latest, table.clock.get(TIME, latest))}
        return _sanitized(decoded, refused, levels, *_in_input_order(rounds))

    def finish(self, partition: int, table: RowTable, end: End) -> Sanitized:
        """Let out what streams hold back, and end their epochs; its time is the latest there was.

        The releases of a stream follow each other, as its ticks do.
        """
        released: list[TickReleases] = []
        if self._temporal is not None:
            rows = np.flatnonzero(table.live("tick") > 0)
            state, keys = table.gather(rows), table.keys
            inner = {name: state[name] for name in self._columns}
            after, leaving = ended(self._temporal, inner, end, partition)
            table.scatter(rows, {**state, **after})
            names = [keys[row] for row in rows.tolist()]
            times = [table.clock.get(TIME, 0)] * len(names)
            released = [
                TickReleases(names, releases.annotations["tick"].tolist(), times, releases)
                for releases in leaving
            ]
        return sanitized_ticks(partition, released, DeadLetters())

    @property
    def _temporal(self) -> TemporalPerturbation | None:
        return self.mechanism if isinstance(self.mechanism, TemporalPerturbation) else None

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
        ends = exhaustible(self.mechanism)
        if ends is None:
            return np.zeros(len(next(iter(state.values()))), dtype=np.int64)
        level = ends.level(stepped)
        return np.where(level > ends.level(state), level, 0)

    def _exhausted(self, state: State) -> NDArray[np.bool_]:
        ends = exhaustible(self.mechanism)
        if ends is None:
            return np.zeros(len(next(iter(state.values()))), dtype=bool)
        return ends.exhausted(state)

    def _step(self, state: State, decoded: Decoded, index: Integers) -> tuple[State, Releases]:
        offsets = [decoded.offsets[i] for i in index]
        positions = record_positions(self.source, decoded.partition, offsets)
        draws = self.scope.draws([decoded.keys[i] for i in index], positions)
        inner = {name: state[name] for name in self._columns}
        if self._elapse is not None:
            inner = self._elapse(inner, [decoded.timestamps[i] for i in index])
        return self.mechanism.step(inner, Inputs(decoded.values[index]), draws)


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


def rounds_of_distinct_rows(rows: Integers) -> Iterator[Integers]:
    """Indices of the first occurrence of every row, then of the second, ...

    One empty round stands for an empty batch.

    >>> [index.tolist() for index in rounds_of_distinct_rows(np.array([7, 3, 7, 7, 3]))]
    [[0, 1], [2, 4], [3]]
    """
    if len(rows) == 0:
        yield rows
        return
    by_row = np.argsort(rows, kind="stable")
    ordered = rows[by_row]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    starts = np.maximum.accumulate(np.where(is_first, np.arange(len(rows)), 0))
    occurrence = np.empty(len(rows), dtype=np.int64)
    occurrence[by_row] = np.arange(len(rows)) - starts
    by_round = np.argsort(occurrence, kind="stable")
    yield from np.split(by_round, np.cumsum(np.bincount(occurrence))[:-1])


def _in_input_order(rounds: list[tuple[Integers, Releases]]) -> tuple[Integers, Releases]:
    """Which records were released, in input order, and their releases."""
    indices = np.concatenate([index for index, _ in rounds])
    order = np.argsort(indices)

    def column(parts: list[Array]) -> Array:
        return np.concatenate(parts)[order]

    kinds = [
        np.full(len(index), Kind.FRESH) if releases.kinds is None else releases.kinds
        for index, releases in rounds
    ]
    names = rounds[0][1].annotations
    return indices[order], Releases(
        column([releases.values for _, releases in rounds]),
        {name: column([r.annotations[name] for _, r in rounds]) for name in names},
        column(kinds),
    )


def _spending(decoded: Decoded, levels: list[tuple[Integers, Integers]]) -> Spending:
    reached = sorted(
        (int(index[i]), int(level[i])) for index, level in levels for i in np.flatnonzero(level)
    )
    return Spending(
        [decoded.offsets[index] for index, _ in reached],
        [decoded.timestamps[index] for index, _ in reached],
        [decoded.keys[index] for index, _ in reached],
        [level for _, level in reached],
    )


def _sanitized(
    decoded: Decoded,
    refused: dict[int, Reason],
    levels: list[tuple[Integers, Integers]],
    released: Integers,
    releases: Releases,
) -> Sanitized:
    kinds = releases.kinds
    assert kinds is not None
    if (kinds == Kind.STOPPED).any():
        offset = decoded.offsets[released[int(np.argmax(kinds == Kind.STOPPED))]]
        raise FuguError(
            f"budget exhausted: the stream of the record at partition {decoded.partition}, offset "
            f"{offset} cannot pay for another release, and budget.when_exhausted is stop. Nothing "
            "was published for it."
        )
    published = kinds != Kind.SUPPRESSED
    kept = released[published]
    for index, reason in refused.items():
        decoded.dead.add(decoded.offsets[index], decoded.timestamps[index], reason)
    return Sanitized(
        decoded.partition,
        [decoded.offsets[i] for i in kept],
        [decoded.timestamps[i] for i in kept],
        [decoded.keys[i] for i in kept],
        Releases(
            releases.values[published],
            {name: column[published] for name, column in releases.annotations.items()},
            kinds[published],
        ),
        decoded.dead.in_order(),
        _spending(decoded, levels),
    )
