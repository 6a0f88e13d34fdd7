"""Move the rows of all partitions to where producers send their keys now."""

from collections.abc import Callable, Sequence

import numpy as np

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.base.ticks import CLOSED, NO_TICK, TIME, UNTOLD
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Integers

Homes = Callable[[Sequence[bytes]], Integers]
"""Returns the partition of each key."""


def moved_rows(
    tables: Sequence[RowTable], homes: Homes, partitions: int, empty: Callable[[], RowTable]
) -> list[RowTable]:
    """Return a table for each partition, with the rows of all tables as they are.

    Streams that are exhausted for good have no key any more, only a digest. They are in every new
    table, so that they are found wherever their records come, and each table counts its share of
    them. `StartRefused` if a key has two rows:
    adding them up would need to know what each of them released. Partitions that go through ticks
    must stand at the same one, where all of them go on.
    """
    found, clocks = [empty() for _ in range(partitions)], [table.clock for table in tables]
    closed = {clock.get(CLOSED) for clock in clocks}
    if len(closed) > 1 or any(clock.keys() - {TIME, CLOSED, UNTOLD} for clock in clocks):
        raise StartRefused(
            "operators in ticks cannot be moved to other partitions yet: partitions stand at "
            "different ticks"
        )
    for one in found:
        one.take_in_spent(tables, partitions)
    latest = max((clock[TIME] for clock in clocks if clock), default=None)
    clock = {} if latest is None else {TIME: latest}
    if (tick := next(iter(closed), None)) is not None:
        clock[CLOSED] = tick
        if any(UNTOLD in one for one in clocks):
            clock[UNTOLD] = NO_TICK
    for table in tables:
        at = homes(table.keys)
        for partition, one in enumerate(found):
            one.take_in(table, np.flatnonzero(at == partition))
    for one in found:
        one.clock = dict(clock)
    return found
