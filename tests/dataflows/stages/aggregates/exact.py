"""Aggregates without noise, from records of several partitions to the figures of every tick."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.ticks import StreamTime, Ticks
from fugu.dataflows.offline.evaluation.aggregates.figures import Exact
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.contributions import Contributions
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.stages.log_entries import PartialSums, read_entry
from fugu.dataflows.stages.merging import MergeState, Merging, OpenTicks
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.stages.summing import Summing
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Array
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.randomness import DrawScope, Secret

GROUPS = ["north", "south", "west"]
SECONDS = Ticks(width=1_000, grace=500, max_jump=30, time=StreamTime(1))

Message = tuple[str, int, str, float]
"""Users, each with a time, a place and an amount."""
Placed = Sequence[tuple[int, Message]]
"""Messages and their partitions."""
Figures = dict[int, list[int]]
"""The figures of each tick, group by group."""


@dataclass
class Aggregate:
    """Some partitions, and the merge of what they write."""

    partitions: int = 2
    ticks: Ticks = SECONDS
    sums: bool = False
    admission: Admission = field(default_factory=lambda: Admission("unchecked", 1, 1_000))
    cap: PersonalCap | None = None

    def __post_init__(self) -> None:
        amounts = Numbers("kw", units_per_one=10) if self.sums else None
        domain = Contributions(Alphabet("zone", GROUPS), amounts, lower=-20, upper=50)
        self.codec = Codec(domain, 1_000_000, FieldTimestamp("at", 1))
        self.bounding = Summing(self.ticks, len(GROUPS), self.admission, cap=self.cap)
        self.tables = [RowTable(self.bounding.start) for _ in range(self.partitions)]
        self.offsets = [0] * self.partitions
        scope = DrawScope(Secret(bytes(32)), "city", "exact", 1, bytes(32))
        self.merge = Merging(Exact(), scope, "topic-id", self.partitions, len(GROUPS))
        self.dead: list[tuple[int, int, str]] = []

    def partials(self, placed: Placed, *, at_once: int = 1_000) -> list[PartialSums]:
        """Yield what the partitions write, one after the other."""
        closed: list[PartialSums] = []
        for partition in range(self.partitions):
            messages = [message for where, message in placed if where == partition]
            for start in range(0, len(messages), at_once):
                closed += self._bounded(partition, messages[start : start + at_once])
        return closed

    def restart(self) -> None:
        """Write the rows of every partition and read them back."""
        for partition, table in enumerate(self.tables):
            self.tables[partition] = RowTable(self.bounding.start)
            self.tables[partition].apply(table.take_everything())

    def merged(self, partials: Sequence[PartialSums], *, restarting: bool = False) -> Figures:
        """The figures of every tick that is released, in this order of the log."""
        state, figures = self.merge.start(), Figures()
        for one in partials:
            for tick, releases in self.merge(state, read_entry(one.encoded(), "log")):
                assert tick not in figures
                figures[tick] = releases.values[0].tolist()
            if restarting:
                state = self._again(state)
        return figures

    def _again(self, state: MergeState) -> MergeState:
        def load(_: str) -> OpenTicks:
            sums = OpenTicks()
            sums.apply(state.open.take_everything())
            return sums

        return self.merge.restored(state.encoded(), load)

    def _bounded(self, partition: int, messages: Sequence[Message]) -> list[PartialSums]:
        first = self.offsets[partition]
        self.offsets[partition] += len(messages)
        offsets = list(range(first, first + len(messages)))
        batch = Batch(
            partition,
            offsets,
            [0] * len(offsets),
            [who.encode() for who, *_ in messages],
            [record(when, where, amount) for _, when, where, amount in messages],
            [[] for _ in offsets],
        )
        bounded = self.bounding(self.codec.decode(batch), self.tables[partition])
        dead = bounded.dead
        self.dead += [
            (partition, offset, str(reason))
            for offset, reason in zip(dead.offsets, dead.reasons, strict=True)
        ]
        return bounded.partials


def record(when: int, where: str, amount: float) -> bytes:
    return b'{"at": %d, "zone": "%b", "kw": %b}' % (when, where.encode(), repr(amount).encode())


def figures_of(aggregate: Aggregate, placed: Placed, **options: Any) -> Figures:
    """From records to figures."""
    return aggregate.merged(aggregate.partials(placed, **options))


def differences(one: Figures, other: Figures) -> dict[int, Array]:
    """Tick by tick; both must have the same ticks."""
    assert one.keys() == other.keys()
    return {tick: np.array(one[tick]) - np.array(other[tick]) for tick in one}
