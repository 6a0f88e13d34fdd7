"""Take records in by tick of event time: what stages of streams and of aggregates have in common.

Records only say what a row holds in a tick. What a record does depends on the records before it in
its partition, never on how they were cut into batches.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import DeadLetters, Decoded, Reason
from fugu.dataflows.base.ticks import Passed, Ticks
from fugu.dataflows.stages.passage import Passage, Records
from fugu.dataflows.stages.stage import Made, Stage
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Array, Integers

Closed = TypeVar("Closed")
"""Hold what comes of a tick that is closed."""


class Arrivals(Stage[Made], Generic[Closed, Made]):
    """Note what records say, and close ticks between them.

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
