"""Take records in by tick of event time, and bound what every user contributes to a tick."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import DeadLetters, Decoded, Reason
from fugu.dataflows.base.ticks import CLOSED, NO_TICK, Passed, Ticks
from fugu.dataflows.stages.stage import NEARLY_ALL, Admission, Made, Stage
from fugu.dataflows.stages.stream_time import Passage, Records
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import selected
from fugu.operators.mechanism import Array, Integers, State
from fugu.operators.temporal.temporal_perturbation import End

Closed = TypeVar("Closed")
"""Hold what comes of a tick that is closed."""


class Arrivals(Stage[Made], Generic[Closed, Made]):
    """Note what records say, and close ticks between them.

    Records only say what a row holds in a tick. What a record does depends on the records before it
    in its partition, never on how they were cut into batches.

    A row has a cell for each tick that may be open, and one more for a tick that stream time has
    not come to.
    """

    ticks: Ticks

    def __call__(self, decoded: Decoded, table: RowTable) -> Made:
        """Take one batch in, in order."""
        closed: list[Closed] = []
        records = Records.of(decoded, self.ticks.time.heartbeats)
        dead = records.without_heartbeats(decoded.dead)
        for stretch in Passage(self.ticks, table.clock, records).stretches():
            closed += self._close(decoded.partition, table, stretch.passed)
            present = records.in_time(self.ticks, table.clock, stretch, dead)
            if len(present):
                self._take_in(decoded.partition, present, table, dead)
        return self._made(decoded.partition, closed, dead)

    def _take_in(
        self, partition: int, present: Records, table: RowTable, dead: DeadLetters
    ) -> None:
        """Give those rows whose records are in time, and note what these say."""
        rows = table.known_rows(present.keys)
        if rows is None:
            ticks = present.times // self.ticks.width
            refused = self._refusals(table, partition, present.keys, ticks)
            present = present.without(refused, dead)
            rows = table.rows_of(present.keys)
        cells = self._cells(table, rows, present.times // self.ticks.width)
        homeless = dict.fromkeys(np.flatnonzero(cells < 0).tolist(), Reason.TOO_FAR_AHEAD)
        present.refuse(homeless, dead)
        said = np.flatnonzero(present.readable & (cells >= 0))
        saying = present.at(said)
        noted = self._note(table, rows[said], cells[said], saying.times, saying.values)
        saying.refuse(noted, dead)

    @abstractmethod
    def _refusals(
        self, table: RowTable, partition: int, keys: Sequence[bytes], ticks: Integers
    ) -> Mapping[int, Reason]:
        """Return which records get no row, and why; some of the keys have none yet."""

    @abstractmethod
    def _cells(self, table: RowTable, rows: Integers, ticks: Integers) -> Integers:
        """Return the cell of each record, or -1: a row has one that is ahead, for the tick of its
        first such record, whatever that holds."""

    @abstractmethod
    def _note(
        self, table: RowTable, rows: Integers, cells: Integers, times: Integers, values: Array
    ) -> Mapping[int, Reason]:
        """Write values into their cells, in order; return those that are refused."""

    @abstractmethod
    def _close(self, partition: int, table: RowTable, passed: Passed) -> Sequence[Closed]:
        """Close ticks, and skip those that do not come."""

    @abstractmethod
    def _made(self, partition: int, closed: list[Closed], dead: DeadLetters) -> Made:
        """Return what comes of a batch."""


def claim(held: Integers, free: NDArray[np.bool_], rows: Integers, ticks: Integers) -> Integers:
    """Note in rows that are free the tick of the first record of each; return these rows.

    >>> held = np.array([0, 7, 0])
    >>> rows, ticks = np.array([2, 1, 2]), np.array([5, 6, 8])
    >>> claim(held, held[rows] == 0, rows, ticks).tolist(), held.tolist()
    ([2], [0, 7, 5])
    """
    claimed, first = np.unique(rows[free], return_index=True)
    held[claimed] = ticks[free][first]
    return claimed


class Partial(Protocol):
    """Describe what a partition tells of a tick that it has closed: part number `part` of it."""

    @property
    def tick(self) -> int: ...

    @property
    def part(self) -> int: ...

    def encoded(self) -> bytes: ...


Told = TypeVar("Told", bound=Partial)


@dataclass(frozen=True)
class Bounded(Generic[Told]):
    """Hold what is told of ticks that are closed now, in order, and refused records."""

    partition: int
    partials: list[Told] = field(default_factory=list)
    dead: DeadLetters = field(default_factory=DeadLetters)


class Bounding(Arrivals[Told, Bounded[Told]]):
    """Keep what the users of one partition contribute to the ticks that may be open.

    A row has a cell for each tick that may be open, and one for a tick that stream time has not
    come to. Whether a record is late or too far ahead depends on the times of records before it in
    its partition, and never on how they were cut into batches.

    A cell belongs to the tick that it names in column `tick`. `held` names the columns of its
    content.
    """

    ticks: Ticks
    admission: Admission

    held: ClassVar[tuple[str, ...]]

    def holds(self, table: RowTable) -> bool:
        """Return whether people have been there in ticks that are open."""
        return CLOSED in table.clock and bool((table.live("seen") > table.clock[CLOSED]).any())

    def is_crowded(self, table: RowTable) -> bool:
        """Return whether nearly all rows are of people whose ticks are open, or who are in use."""
        most = NEARLY_ALL * self.admission.max_keys
        if CLOSED not in table.clock or len(table) < most:
            return False
        taken = (table.live("seen") > table.clock[CLOSED]) | self._in_use(table)
        return int(np.count_nonzero(taken)) >= most

    def finish(self, partition: int, table: RowTable, end: End) -> Bounded[Told]:
        """Return nothing: a tick that is open may still get contributions."""
        return Bounded(partition)

    def _refusals(
        self, table: RowTable, partition: int, keys: Sequence[bytes], ticks: Integers
    ) -> dict[int, Reason]:
        """Give new keys rows, and return which get none.

        A row whose last record is in a tick that is closed is free: as long as somebody has a
        record in an open one, nobody else gets it.
        """
        new = len(set(selected(keys, table.unknown(keys))))
        most, refused = self.admission.max_keys, dict[int, Reason]()
        if len(table) + new <= most:
            return self.admission.refusals(table, partition, keys)
        seen, closed = table.live("seen"), table.clock[CLOSED]
        free = iter(np.flatnonzero((seen <= closed) & ~self._in_use(table)).tolist())
        for place, (key, tick) in enumerate(zip(keys, ticks.tolist(), strict=True)):
            reason = None if key in table else self.admission.refusal(partition, key)
            if reason is None and len(table) >= most and key not in table:
                row = next((row for row in free if seen[row] <= closed), None)
                if row is None:
                    reason = Reason.TOO_MANY_KEYS
                else:
                    table.recycle(row, key)
            if reason is not None:
                refused[place] = reason
                continue
            row = table.row_of(key)
            seen = table.live("seen")
            seen[row] = max(seen[row], tick)
        return refused

    def _in_use(self, table: RowTable) -> NDArray[np.bool_]:
        """Return which rows nobody else may get, although their ticks are closed."""
        return np.zeros(len(table), dtype=bool)

    def _cells(self, table: RowTable, rows: Integers, ticks: Integers) -> Integers:
        np.maximum.at(table.live("seen"), rows, ticks)
        table.touch(rows)
        cells, columns, closed = ticks % self.ticks.open, table.columns, table.clock[CLOSED]
        ahead = np.flatnonzero(ticks > closed + self.ticks.open)
        if len(ahead):
            held, empty = columns["tick"][:, -1], self.start(1)
            claimed = claim(held, held[rows[ahead]] <= closed, rows[ahead], ticks[ahead])
            for name in self.held:
                columns[name][claimed, -1] = empty[name][0, -1]
            cells[ahead] = np.where(held[rows[ahead]] == ticks[ahead], self.ticks.open, -1)
        return cells

    def _close(self, partition: int, table: RowTable, passed: Passed) -> list[Told]:
        """Return what comes of closed ticks; an empty one stands for all that are skipped."""
        closed: list[Told] = []
        if passed.anew:
            self._forget(table)
        for tick in passed.closed:
            closed += self._of_tick(partition, table, tick)
            self._come_to(table, tick + self.ticks.open)
        if passed.skipped:
            closed.append(self._skipped(partition, passed.skipped))
        return closed

    @abstractmethod
    def _of_tick(self, partition: int, table: RowTable, tick: int) -> Sequence[Told]:
        """Return what comes of a tick that is closed now."""

    @abstractmethod
    def _skipped(self, partition: int, ticks: range) -> Told:
        """Return what stands for ticks that nobody can have contributed to."""

    def _made(self, partition: int, closed: list[Told], dead: DeadLetters) -> Bounded[Told]:
        return Bounded(partition, closed, dead.in_order())

    def _forget(self, table: RowTable) -> None:
        """Drop all that people contributed; no tick was told of it."""
        table.live("tick")[:] = NO_TICK
        table.live("seen")[:] = self._last_seen(table)
        table.touch(np.arange(len(table)))

    def _last_seen(self, table: RowTable) -> int:
        """Return when people were last there, once their records were of a wrong time."""
        return NO_TICK

    def _come_to(self, table: RowTable, tick: int) -> None:
        """Move what users who are ahead contribute to this tick to the cell of the one closed."""
        columns, before, after = table.columns, self.ticks.open, tick % self.ticks.open
        rows = np.flatnonzero(columns["tick"][:, before] == tick)
        if len(rows):
            for name in ("tick", *self.held):
                columns[name][rows, after] = columns[name][rows, before]
            columns["tick"][rows, before] = NO_TICK
            table.touch(rows)


def cells_of(ticks: Ticks, rows: int, held: dict[str, Array]) -> State:
    """Return the columns of fresh rows: `held` has an empty cell of each column of the content.

    `seen` is the last tick in which there was a record, whatever it held.
    """
    shape = (rows, ticks.open + 1)
    contents = {name: np.full(shape, cell, dtype=cell.dtype) for name, cell in held.items()}
    return {"tick": np.full(shape, NO_TICK), **contents, "seen": np.full(rows, NO_TICK)}
