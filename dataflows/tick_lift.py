"""Lift a mechanism to ticks of event time: all streams of a partition step when a tick closes.

Records only say what a stream holds in a tick; a stream without one has no value there, which is a
value like any other to the mechanism. What a record does depends on the records before it in its
partition, never on how they were cut into batches.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dataflows.admission import Admission
from dataflows.batches import DeadLetters, Decoded, Reason, Sanitized
from dataflows.codec.payloads import LARGEST_PAYLOAD_BYTES
from dataflows.epoch_end import ended
from dataflows.state.row_table import RowTable
from dataflows.tick_releases import TickReleases, sanitized_ticks
from dataflows.ticks import CLOSED, TIME, Ticks
from operators.mechanism import ExhaustibleMechanism, Inputs, Integers, Mechanism, Releases, State
from operators.randomness import DrawScope, tick_position
from operators.temporal.payloads import is_there
from operators.temporal.temporal_perturbation import End, TemporalPerturbation


@dataclass(frozen=True)
class TickLift:
    """One mechanism over the streams of one partition of the topic identified by `source`."""

    mechanism: TemporalPerturbation
    scope: DrawScope
    source: str
    admission: Admission
    ticks: Ticks
    _columns: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_columns", tuple(self.mechanism.start(0)))

    @property
    def ends(self) -> ExhaustibleMechanism | None:
        """No row comes to an end."""
        return None

    def start(self, rows: int) -> State:
        """The columns of fresh rows."""
        return tick_columns(self.mechanism, self.ticks)(rows)

    def __call__(self, decoded: Decoded, table: RowTable) -> Sanitized:
        """Note what records say, and release whatever ticks they close."""
        released: list[TickReleases] = []
        new = set(table.unknown(decoded.keys))
        records = zip(decoded.keys, decoded.timestamps, decoded.values.tolist(), strict=True)
        for index, (key, time, value) in enumerate(records):
            reason = self.ticks.refusal(table.clock, time)
            if reason is None and index in new:
                reason = self._refused(table, decoded, key)
            if reason is None:
                released += self._close(table, self.ticks.passed(table.clock, time))
                reason = self._note(table, key, self.ticks.of(time), value)
            if reason is not None:
                decoded.dead.add(decoded.offsets[index], time, reason)
        return sanitized_ticks(decoded.partition, released, decoded.dead)

    def finish(self, partition: int, table: RowTable, end: End) -> Sanitized:
        """Close what is open, let out what is pending, and end every epoch.

        Stream time begins anew with the next record, however far ahead; closed ticks stay closed.
        """
        released: list[TickReleases] = []
        if TIME in table.clock:
            first, last = table.clock[CLOSED] + 1, self.ticks.of(table.clock.pop(TIME))
            table.clock[CLOSED] = last
            released += self._close(table, range(first, last + 1))
            rows = np.flatnonzero(table.live("running"))
            state = table.gather(rows)
            inner = {name: state[name] for name in self._columns}
            after, leaving = ended(self.mechanism, inner, end, partition)
            table.scatter(rows, {**self.start(len(rows)), **after})
            keys = table.keys
            names = [keys[row] for row in rows.tolist()]
            released += [
                self._released(last + later, names, releases)
                for later, releases in enumerate(leaving, start=1)
            ]
        return sanitized_ticks(partition, released, DeadLetters())

    def _refused(self, table: RowTable, decoded: Decoded, key: bytes) -> Reason | None:
        return self.admission.refusals(table, decoded.partition, [key]).get(0)

    def _note(self, table: RowTable, key: bytes, tick: int, value: bytes | None) -> Reason | None:
        """What the stream holds in a tick that is open."""
        row = table.row_of(key)
        cell = row, tick % self.ticks.open
        values, present, several = table.live("values"), table.live("present"), self.ticks.several
        if present[cell] and several in ("first", "error"):
            return Reason.SECOND_IN_TICK if several == "error" else None
        if several == "list":
            before = b"[" if not present[cell] else values[cell][:-1] + b","
            value = before + (b"null" if value is None else value) + b"]"
            if len(value) > LARGEST_PAYLOAD_BYTES:
                return Reason.TOO_LARGE
        values[cell], present[cell] = value, True
        table.touch(row)
        return None

    def _close(self, table: RowTable, ticks: range) -> list[TickReleases]:
        closed = []
        for tick in ticks:
            present = table.live("present")[:, tick % self.ticks.open]
            rows = np.flatnonzero(table.live("running") | present)
            if len(rows):
                closed.append(self._step(table, rows, tick))
        return closed

    def _step(self, table: RowTable, rows: Integers, tick: int) -> TickReleases:
        state, cell = table.gather(rows), tick % self.ticks.open
        keys = table.keys
        names = [keys[row] for row in rows.tolist()]
        draws = self.scope.draws(names, [tick_position(self.source, tick)] * len(rows))
        inner = {name: state[name] for name in self._columns}
        after, releases = self.mechanism.step(inner, Inputs(state["values"][:, cell]), draws)
        state["values"][:, cell] = None
        state["present"][:, cell] = False
        state["quiet"] = np.where(is_there(releases.values), 0, state["quiet"] + 1)
        idle = np.flatnonzero((state["quiet"] >= self.ticks.idle) & ~state["present"].any(axis=1))
        fresh, pending = self.mechanism.discard({n: column[idle] for n, column in after.items()})
        ends = idle[pending == 0]
        for name, column in after.items():
            column[ends] = fresh[name][pending == 0]
        state["quiet"][ends] = 0
        running = np.ones(len(rows), dtype=bool)
        running[ends] = False
        table.scatter(rows, {**state, **after, "running": running})
        return self._released(tick, names, releases)

    def _released(self, tick: int, keys: list[bytes], releases: Releases) -> TickReleases:
        return TickReleases(keys, [tick] * len(keys), [self.ticks.end(tick)] * len(keys), releases)


def tick_columns(mechanism: Mechanism, ticks: Ticks) -> Callable[[int], State]:
    """The columns of a row: the mechanism's, the values of open ticks, whether an epoch goes on,
    and in how many ticks nothing was released."""

    def start(rows: int) -> State:
        return {
            **mechanism.start(rows),
            "values": np.full((rows, ticks.open), None, dtype=object),
            "present": np.zeros((rows, ticks.open), dtype=bool),
            "running": np.zeros(rows, dtype=bool),
            "quiet": np.zeros(rows, dtype=np.int64),
        }

    return start
