"""Bring the partitions of an aggregate to one tick, behind which people may be in other partitions.

Partitions close ticks each by its own stream time, so the rows of a person who moves would come to
ticks that the new partition has told already, or would be told twice. Hence all partitions close
up to the last tick that one of them has closed, and tell what they hold of these. A contribution to
a later tick moves with the row that holds it. So nobody counts twice in a tick, wherever records of
one person come. What the merge is told is a function of the states of the partitions.

Where one clock moves time, a wrong one may have begun it, far ahead, before it told a tick. Such a
partition goes by the others, and drops what it holds of its own time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from fugu.dataflows.base.ticks import CLOSED, Clock, Ticks, told
from fugu.dataflows.stages.log_entries import PartitionsMoved
from fugu.dataflows.stages.summing import Summing
from fugu.dataflows.state.row_table import RowTable


@dataclass(frozen=True)
class BroughtTogether:
    """Hold the tables of all partitions, which stand at one tick, and entries for the log."""

    tables: dict[int, RowTable]
    entries: list[bytes]
    last: int | None


def brought_together(
    stage: Summing, tables: Mapping[int, RowTable], before: int, after: int
) -> BroughtTogether:
    """Close the same ticks in all partitions of `before`, and tell that there will be `after`.

    The given tables are used up.
    """
    clocks = [one.clock for one in tables.values() if CLOSED in one.clock]
    last = _common_tick(stage.ticks, clocks)
    all_at_one = bool(clocks) and all(told(one) is None and one[CLOSED] == last for one in clocks)
    begun, told_up_to = (dict(clocks[0]), None) if all_at_one else ({}, last)
    together, entries = dict[int, RowTable](), list[bytes]()
    for partition in range(before):
        table = tables[partition] if partition in tables else RowTable(stage.start)
        table.clock = table.clock or dict(begun)
        if told_up_to is not None:
            told_now = stage.close_up_to(partition, table, told_up_to)
            entries += [one.encoded() for one in told_now]
        together[partition] = stage.living(table)
    entries.append(PartitionsMoved(after, told_up_to).encoded())
    return BroughtTogether(together, entries, told_up_to)


def _common_tick(ticks: Ticks, clocks: Sequence[Clock]) -> int | None:
    """Return the last tick that a partition has told.

    A clock that has only begun time may be wrong, and decides nothing for other partitions. Where
    there are no others, those that are near the first one count.
    """
    standing = [tick for clock in clocks if (tick := told(clock)) is not None]
    if standing or not clocks:
        return max(standing, default=None)
    first = min(clocks, key=itemgetter(CLOSED))
    return max(clock[CLOSED] for clock in clocks if clock[CLOSED] <= ticks.last(first))
