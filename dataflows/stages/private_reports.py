"""Sum reports that are private already, and wait until it is known what is asked of users."""

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from bytewax.operators import StatefulBatchLogic

from fugu.dataflows.base.batches import Decoded
from fugu.dataflows.base.errors import without_values
from fugu.dataflows.base.ticks import NO_TICK, Clock, Passed
from fugu.dataflows.stages.bounding import Bounded
from fugu.dataflows.stages.log_entries import Asking, PartialSums
from fugu.dataflows.stages.stateful_step import Sanitize
from fugu.dataflows.stages.stream_time import Passage, Records, Stretch
from fugu.dataflows.stages.summing import Summing
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import encode_fields
from fugu.operators.ldp_ids.reporting import NOTHING, Instruction, Reporting
from fugu.operators.mechanism import State
from fugu.operators.randomness import DrawScope, tick_position
from fugu.operators.wevent.allocation import Booleans

REPORTED = "reported tick"
"""Names the last tick that is reported, or skipped, in the clock of a partition."""
READ = "next record"
"""Names the offset of the next record that is to be taken in."""
_AMOUNT, _FIRST, _SPENT = "asked amount ", "asked first ", "spent at "
_PLACE = encode_fields("place")


@dataclass(frozen=True, kw_only=True)
class PrivateReports(Summing):
    """Sum the reports of one partition's users of the topic identified by `source`.

    A tick that is closed is reported once it is known what its users are asked. That stands in the
    internal log, where the collector has written it after the tick before. Until then no later
    record is taken in. So everything follows from the records and from what is asked, in whatever
    order these two come.

    The clock of the partition also holds what is asked at coming ticks, and what publications were
    charged, tick by tick; rows hold what is remembered of each user.
    """

    reporting: Reporting
    scope: DrawScope
    source: str

    def start(self, rows: int) -> State:
        """Return the columns of fresh rows."""
        return {**super().start(rows), **self.reporting.start(rows)}

    def hear(self, table: RowTable, asking: Asking) -> None:
        """Keep what is asked at a tick that is not reported yet, unless something is asked already.

        The first one counts, as the collector reads the same log and stops where it finds another.
        Ticks may be far ahead of a partition that goes back to an older state: the log asks now
        what it needs when it has read its records again.
        """
        clock, tick, asked = table.clock, asking.tick, asking.instruction
        if tick > clock.get(REPORTED, NO_TICK):
            clock.setdefault(f"{_AMOUNT}{tick}", asked.amount)
            clock.setdefault(f"{_FIRST}{tick}", asked.first)

    def waits(self, table: RowTable, tick: int) -> bool:
        """Return whether a tick cannot be reported before something is asked.

        The first one of a partition does not wait, since the collector does not know of it.
        """
        clock = table.clock
        if self.reporting.fixed is not None or REPORTED not in clock:
            return False
        return f"{_AMOUNT}{tick}" not in clock

    def advance(
        self, decoded: Decoded, table: RowTable
    ) -> tuple[Bounded[PartialSums], Decoded | None, int | None]:
        """Take records in until a tick waits.

        Return what was made, the records that are left, None if none are, and the tick.
        """
        made = Bounded[PartialSums](decoded.partition)
        left = decoded.cut(table.clock.get(READ, 0))[1]
        while True:
            records = Records.of(left, self.ticks.time.heartbeats)
            stretch = self._next(table.clock, records)
            if stretch is not None and stretch.passed.anew:
                self._forget(table)
            for tick in () if stretch is None else stretch.passed.closed:
                if tick <= table.clock.get(REPORTED, NO_TICK):
                    continue
                if self.waits(table, tick):
                    return made, left, tick
                made.partials.extend(self._report(decoded.partition, table, tick))
            ends = stretch is None or stretch.end == len(records)
            here = left
            if stretch is not None and not ends:
                here, left = left.cut(int(records.offsets[stretch.end]))
            summed = self(here, table)
            made.partials.extend(summed.partials)
            made.dead.extend(summed.dead)
            table.clock[READ] = max(table.clock.get(READ, 0), here.end)
            if ends:
                return made, None, None

    def _next(self, clock: Clock, records: Records) -> Stretch | None:
        """Return which ticks the first record closes, and up to where nothing else is closed."""
        return next(Passage(self.ticks, dict(clock), records).stretches(), None)

    def _in_use(self, table: RowTable) -> Booleans:
        following = table.clock.get(REPORTED, NO_TICK) + 1
        rows = {name: table.live(name) for name in self.reporting.start(0)}
        return super()._in_use(table) | self.reporting.in_use(rows, following)

    def _close(self, partition: int, table: RowTable, passed: Passed) -> list[PartialSums]:
        """Report ticks that are closed and not reported yet; skipped ones hold nobody."""
        reported = table.clock.get(REPORTED, NO_TICK)
        if passed.anew:
            self._forget(table)
        partials = [
            partial
            for tick in passed.closed
            if tick > reported
            for partial in self._report(partition, table, tick)
        ]
        partials += super()._close(partition, table, Passed(range(0), passed.skipped))
        if passed.skipped:
            table.clock[REPORTED] = max(table.clock.get(REPORTED, NO_TICK), passed.skipped[-1])
        return partials

    def _report(self, partition: int, table: RowTable, tick: int) -> list[PartialSums]:
        partials = self._of_tick(partition, table, tick)
        self._come_to(table, tick + self.ticks.open)
        table.clock[REPORTED] = tick
        for name in [name for name in table.clock if name.startswith((_AMOUNT, _FIRST))]:
            if int(name.rsplit(" ", 1)[1]) <= tick:
                del table.clock[name]
        return partials

    def _of_tick(self, partition: int, table: RowTable, tick: int) -> list[PartialSums]:
        columns, cell = table.columns, tick % self.ticks.open
        rows = np.flatnonzero(columns["tick"][:, cell] == tick)
        symbols, keys = columns["group"][rows, cell], table.keys_of(rows)
        state = {name: columns[name][rows] for name in self.reporting.start(0)}
        state = self.reporting.placed(state, self.scope.draws(keys, [_PLACE] * len(rows)))
        position = tick_position(self.source, tick, partition=partition)
        draws = self.scope.draws(keys, [position] * len(rows))
        told, before = self._told(table.clock, tick), _spent(table.clock)
        state, spent, tally = self.reporting.report(state, before, symbols, tick, told, draws)
        for name, column in state.items():
            columns[name][rows] = column
        table.touch(rows)
        _hold(table.clock, spent)
        said = np.flatnonzero(tally)
        return [PartialSums(partition, tick, said, tally[said])]

    def _told(self, clock: Clock, tick: int) -> Instruction:
        if self.reporting.fixed is not None:
            return self.reporting.fixed(tick)
        if f"{_AMOUNT}{tick}" not in clock:
            return NOTHING
        return Instruction(clock[f"{_AMOUNT}{tick}"], clock[f"{_FIRST}{tick}"])


def _spent(clock: Clock) -> dict[int, int]:
    """Return what publications were charged, by tick."""
    return {
        int(name.removeprefix(_SPENT)): units
        for name, units in clock.items()
        if name.startswith(_SPENT)
    }


def _hold(clock: Clock, spent: Mapping[int, int]) -> None:
    """Hold these charges instead of those of before."""
    for name in [name for name in clock if name.startswith(_SPENT)]:
        del clock[name]
    clock.update({f"{_SPENT}{tick}": units for tick, units in spent.items()})


@dataclass(frozen=True)
class Heard:
    """Hold what a batch of the internal log asks of users, for one partition of the source."""

    partition: int
    asked: tuple[Asking, ...]


@dataclass(eq=False)
class Gate:
    """Tell the source which partitions wait, and how far records have been taken in.

    `positions` holds the offset of the next record that is not in the state. A source that resumes
    there reads nothing too late; what it reads twice, the stage passes over.
    """

    positions: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, tuple[int, float]] = field(default_factory=dict)
    """The tick that a partition waits with, and since which moment."""

    def note(self, partition: int, position: int, tick: int | None) -> None:
        """Take in how far a partition has come."""
        self.positions[partition] = max(position, self.positions.get(partition, 0))
        if tick is None:
            self.waiting.pop(partition, None)
        elif self.waiting.get(partition, (None, 0.0))[0] != tick:
            self.waiting[partition] = tick, time.monotonic()


@dataclass(eq=False)
class WaitingStep(Sanitize[Bounded[PartialSums]]):
    """Run the stage over one partition.

    Records that are held back are not in the state: they are read again after a restart.
    """

    stage: PrivateReports
    gate: Gate = field(default_factory=Gate, kw_only=True)

    def __post_init__(self) -> None:
        self._held: deque[Decoded] = deque()
        super().__post_init__()

    def on_batch(self, values: list[Decoded | Heard]) -> tuple[list[Bounded[PartialSums]], bool]:  # type: ignore[override]
        """Take records and instructions in, in whatever order they come."""
        out: list[Bounded[PartialSums]] = []
        for value in values:
            log = self._log or self._begin(value.partition)
            if isinstance(value, Decoded):
                self._held.append(value)
            else:
                for asking in value.asked:
                    self.stage.hear(log.table, asking)
            out += self._taken_in(value.partition)
        self._sinks_wait = True
        return out, StatefulBatchLogic.RETAIN

    def _taken_in(self, partition: int) -> list[Bounded[PartialSums]]:
        """Go on with what is held back, as far as it goes."""
        assert self._log is not None
        out, table, tick = list[Bounded[PartialSums]](), self._log.table, None
        while self._held and tick is None:
            decoded = self._held.popleft()
            with without_values("sanitize", self.topic, partition, decoded.offsets):
                made, left, tick = self.stage.advance(decoded, table)
            if left is not None:
                self._held.appendleft(left)
            self._measured.made(made, table)
            if made.partials or made.dead.offsets:
                out.append(made)
        self.gate.note(partition, table.clock.get(READ, 0), tick)
        return out
