"""Every way a stream of event-time ticks can go, from before its first record to after its last
epoch: the real `PayloadsPerTick`, fed with records, and with a word for each choice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fugu.dataflows.base.batches import DeadLetters, Decoded, Sanitized
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.stages.displaced import PayloadsPerTick
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Words
from fugu.operators.temporal.temporal_perturbation import End
from fugu.operators.temporal.threshold import ThresholdDispatch
from tests.privacy.temporal.paths import stationary

CLOCK = b"clock"
"""A stream whose records close the ticks of the others."""

Released = tuple[tuple[int, int], ...]
"""The tick of each release, and the tick that its value is from, 0 where it is empty."""


@dataclass(frozen=True)
class ByStream:
    """Words by stream: of `delay`, one; of `start` and `drain`, as many as slots."""

    chosen: dict[bytes, dict[str, Words]]
    names: Sequence[bytes]

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        found = np.zeros((len(self.names), coordinates, count), dtype=np.uint64)
        for row, name in enumerate(self.names):
            if name != CLOCK:
                found[row, 0] = self.chosen[name][purpose][:count]
        return found


@dataclass
class ChosenScope:
    """Stands in for the scope of a secret."""

    chosen: dict[bytes, dict[str, Words]] = field(default_factory=dict)

    def draws(self, names: Sequence[bytes], positions: Sequence[bytes]) -> ByStream:
        return ByStream(self.chosen, names)


@dataclass
class EpochPaths:
    """All paths of a stream that has a value in each tick with probability `filled`."""

    mechanism: ThresholdDispatch
    idle: int
    filled: float

    def __post_init__(self) -> None:
        scope: Any = ChosenScope()
        ticks = Ticks(width=1, grace=0, max_jump=1_000, idle=self.idle)
        admission = Admission("unchecked", 1, 10_000_000)
        self.lift = PayloadsPerTick(self.mechanism, scope, "topic", admission, ticks)
        self.chosen: dict[bytes, dict[str, Words]] = scope.chosen
        self.table = RowTable(self.lift.start)
        self.table.rows_of([CLOCK, b"0"])
        self.paths: list[tuple[float, Released]] = [(1.0, ())]
        self._feed([(CLOCK, 1, b"tick")])

    def advance(self, tick: int) -> None:
        """One tick more: with a value or without one, and with every draw."""
        self._branch_at(tick, orders=1)
        self._feed([(CLOCK, tick + 1, b"tick")])
        self._merge()

    def finish(self, tick: int, end: End) -> None:
        """Finish the stream in a tick that is open, and let out what waits in both orders."""
        assert self.mechanism.pending <= 2
        self._branch_at(tick, orders=2)
        self._note(self.lift.finish(0, self.table, end))

    def _branch_at(self, tick: int, orders: int) -> None:
        """Make a path for each value that may come, and for each draw."""
        values = ((b"%d" % tick, self.filled), (None, 1.0 - self.filled))
        branches = [
            (path, weight * chance * of_start / self.mechanism.c0 / orders, value, start, word, by)
            for path, (weight, _) in enumerate(self.paths)
            for value, chance in values
            for start, of_start in self._starts(path)
            for word in range(self.mechanism.c0)
            for by in (1, -1)[:orders]
        ]
        self._branch([branch[0] for branch in branches], [branch[1] for branch in branches])
        records = []
        for path, (*_, value, start, word, by) in enumerate(branches):
            name, slots = b"%d" % path, np.arange(self.mechanism.k, dtype=np.uint64)
            delay = np.array([-(-word * 2**64 // self.mechanism.c0)], dtype=np.uint64)
            self.chosen[name] = {"start": start, "delay": delay, "drain": slots[::by]}
            if value is not None:
                records.append((name, tick, value))
        self._feed(records)

    def _starts(self, path: int) -> Iterator[tuple[Words, float]]:
        """First occupancies, where an epoch begins with this tick."""
        row = self.table.row_of(b"%d" % path)
        if self.table.live("tick")[row] > 0 or not self.table.live("running")[row]:
            yield np.zeros(self.mechanism.k, dtype=np.uint64), 1.0
            return
        occupied, law = stationary(self.mechanism.k, self.mechanism.c0)
        for slots, chance in zip(occupied, law.tolist(), strict=True):
            yield np.where(slots, np.uint64(2**64 - 1), np.uint64(0)), chance

    def _branch(self, sources: list[int], weights: list[float]) -> None:
        before, clock = self.table, self.table.row_of(CLOCK)
        rows = np.array([clock, *(before.row_of(b"%d" % path) for path in sources)])
        self.table = RowTable(self.lift.start)
        keys = [CLOCK, *(b"%d" % path for path in range(len(sources)))]
        self.table.scatter(self.table.rows_of(keys), before.gather(rows))
        self.table.clock = dict(before.clock)
        old = self.paths
        self.paths = [(w, old[path][1]) for path, w in zip(sources, weights, strict=True)]
        self.chosen.clear()

    def _merge(self) -> None:
        """Make one of paths that stand alike after the same releases."""
        rows = np.array([self.table.row_of(b"%d" % path) for path in range(len(self.paths))])
        state = self.table.gather(rows)
        state.pop("history")
        columns = [column.tolist() for column in state.values()]
        found: dict[str, tuple[int, float]] = {}
        for path, (weight, released) in enumerate(self.paths):
            key = repr((released, [column[path] for column in columns]))
            first, total = found.get(key, (path, 0.0))
            found[key] = first, total + weight
        self._branch([path for path, _ in found.values()], [w for _, w in found.values()])

    def _feed(self, records: Sequence[tuple[bytes, int, bytes | None]]) -> None:
        values = np.array([value for *_, value in records], dtype=object)
        times, keys = [time for _, time, _ in records], [key for key, *_ in records]
        offsets = list(range(len(records)))
        decoded = Decoded(0, offsets, times, keys, values, None, DeadLetters())
        self._note(self.lift(decoded, self.table))

    def _note(self, sanitized: Sanitized) -> None:
        for key, tick, value in zip(
            sanitized.keys, sanitized.offsets, sanitized.releases.values, strict=True
        ):
            if key != CLOCK:
                weight, released = self.paths[int(key)]
                self.paths[int(key)] = weight, (*released, (tick, int(value or 0)))
