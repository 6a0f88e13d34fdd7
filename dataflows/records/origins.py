"""Name where a record of the internal topic by user comes from: its key is `PARTITION/OFFSET`.

Whoever else writes to that topic has no such key, or lies: its readers are those of private topics,
and its writer is Fugu alone.
"""

import re
from dataclasses import replace

from fugu.dataflows.base.batches import Batch, Decoded, Reason

Origin = tuple[int, int]
"""Partition and offset of a record of the source."""

_ORIGIN = re.compile(rb"(0|[1-9][0-9]{0,9})/(0|[1-9][0-9]{0,18})")


def origin_key(partition: int, offset: int) -> bytes:
    """Return the key of a record that comes from here.

    >>> origin_key(3, 1742), origin_of(b"3/1742"), origin_of(b"anna")
    (b'3/1742', (3, 1742), None)
    """
    return b"%d/%d" % (partition, offset)


def origin_of(key: bytes | None) -> Origin | None:
    """Return where a record comes from; None if Fugu has not written it."""
    found = None if key is None else _ORIGIN.fullmatch(key)
    return None if found is None else (int(found[1]), int(found[2]))


def without_foreign(batch: Batch, decoded: Decoded) -> Decoded:
    """Return a batch in which records of other writers are dead letters, and move no time."""
    foreign = {
        offset: max(arrival, 0)
        for offset, arrival, key in zip(batch.offsets, batch.timestamps, batch.keys, strict=True)
        if origin_of(key) is None
    }
    if not foreign:
        return decoded
    kept = decoded.without(foreign)
    for offset, arrival in foreign.items():
        kept.dead.add(offset, arrival, Reason.NOT_FORWARDED)
    return replace(kept, dead=kept.dead.in_order())
