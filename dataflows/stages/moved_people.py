"""Bring the partitions of an aggregate to one tick, behind which people may be in other partitions.

Partitions close ticks each by its own stream time, so the rows of a person who moves would come to
ticks that the new partition has told already, or would be told twice. Hence all partitions close
up to the last tick that one of them has closed, and tell what they hold of these. A contribution to
a later tick moves with the row that holds it. So nobody counts twice in a tick, wherever records of
one person come. What the merge is told is a function of the states of the partitions.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fugu.dataflows.base.ticks import CLOSED
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
    last = max((one.clock[CLOSED] for one in tables.values() if CLOSED in one.clock), default=None)
    together, entries = dict[int, RowTable](), list[bytes]()
    for partition in range(before):
        table = tables[partition] if partition in tables else RowTable(stage.start)
        if last is not None:
            entries += [one.encoded() for one in stage.close_up_to(partition, table, last)]
        together[partition] = stage.living(table)
    entries.append(PartitionsMoved(after, last).encoded())
    return BroughtTogether(together, entries, last)
