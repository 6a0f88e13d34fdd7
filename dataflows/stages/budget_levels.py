"""Count the streams of a partition by what they have spent of their budget."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fugu.dataflows.base.metrics import STREAMS_BY_BUDGET, Metrics
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import AT_THE_END, ExhaustibleMechanism

_LEVELS = (*map(str, range(AT_THE_END)), "exhausted")
_PAUSES = 100
"""Counting takes at most one part of so many of the time. A million rows take some milliseconds."""


@dataclass
class BudgetLevels:
    """Show the counts, but not so often that it would slow a large table down."""

    ends: ExhaustibleMechanism
    metrics: Metrics
    topic: str
    clock: Callable[[], float] = time.monotonic
    spent: Callable[[], float] = time.thread_time
    """Seconds of the processor, so that a machine that is busy with other things does not count."""
    _next: float = field(default=float("-inf"), init=False)

    def show(self, partition: int, table: RowTable) -> None:
        """Count all streams of a partition, unless they were counted just now."""
        now, begun = self.clock(), self.spent()
        if now < self._next:
            return
        counts = np.bincount(self.ends.level(table.columns), minlength=AT_THE_END + 1)
        counts[AT_THE_END] += table.compacted
        for spent, count in zip(_LEVELS, counts.tolist(), strict=True):
            self.metrics.put(STREAMS_BY_BUDGET, count, self.topic, partition, spent)
        self._next = now + _PAUSES * (self.spent() - begun)


def budget_levels(
    ends: ExhaustibleMechanism | None, metrics: Metrics, topic: str
) -> BudgetLevels | None:
    """Return what counts streams, where each has a budget for its whole life."""
    return None if ends is None or not ends.lasting else BudgetLevels(ends, metrics, topic)
