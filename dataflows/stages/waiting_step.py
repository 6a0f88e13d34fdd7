"""Run a stage that waits for what is asked of users, and hold records back until it is known."""

import time
from collections import deque
from dataclasses import dataclass, field

from bytewax.operators import StatefulBatchLogic

from fugu.dataflows.base.batches import Decoded
from fugu.dataflows.base.errors import without_values
from fugu.dataflows.stages.bounding import Bounded
from fugu.dataflows.stages.log_entries import Asking
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.stages.private_reports import READ, PrivateReports
from fugu.dataflows.stages.stateful_step import Sanitize


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
