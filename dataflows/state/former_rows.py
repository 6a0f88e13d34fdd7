"""Read rows as the version of Fugu before wrote them, and go on from them.

A log says itself which columns it holds. One of the version before is read with its own columns,
and its rows are converted when they are loaded. The next write begins a new generation. Nothing is
written in between, so a crash leaves the log as it was, and the next start converts it again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fugu.dataflows.state.row_block import columns_said, described
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import ExhaustibleMechanism, State

Start = Callable[[int], State]
"""Makes the columns of fresh rows."""


@dataclass(frozen=True)
class FormerRows:
    """Hold what makes fresh rows of the version before, and what converts rows."""

    start: Start
    upgraded: Callable[[State, Mapping[str, int]], State]
    """Converts rows of a partition whose clock is given."""

    def converted(
        self, table: RowTable, now: Start, exhaustible: ExhaustibleMechanism | None
    ) -> RowTable:
        """Return the same streams in a table of this version."""
        return table.converted(now, exhaustible, lambda _, rows: self.upgraded(rows, table.clock))


def wrote(former: FormerRows | None, block: bytes, now: Start) -> bool:
    """Return whether a block holds the columns of the version before, and they are others."""
    if former is None or not block:
        return False
    columns, before = columns_said(block), described(former.start(0))
    return columns == before and before != described(now(0))
