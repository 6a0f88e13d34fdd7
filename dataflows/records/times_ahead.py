"""Refuse records whose own time is far ahead of the time that Kafka has for the same record.

Nothing else decides: neither other records, nor any clock of this machine. Where the broker writes
that time (LogAppendTime), or limits it (`message.timestamp.after.max.ms`), no clock of a producer
gets further ahead of the broker's clock. Where a producer writes both times by one clock, both are
wrong together, and nothing is refused.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import Batch, DeadLetters, Decoded, Reason
from fugu.operators.integer_column import column_of


def without_times_ahead(batch: Batch, decoded: Decoded, most: int, field: str) -> Decoded:
    """Return the records of a batch whose times are at most so many milliseconds after Kafka's.

    Others are dead letters that name the `field`. They count as records whose time cannot be read.
    """
    refused = decoded.refused
    if refused.offsets:
        late = _ahead(batch, refused.offsets, refused.timestamps, most).tolist()
        kept = [place for place, ahead in enumerate(late) if not ahead]
        refused = refused.at(kept)
    ahead = _ahead(batch, decoded.offsets, decoded.timestamps, most)
    if not ahead.any():
        return replace(decoded, refused=refused)
    dead = DeadLetters()
    offsets = column_of(decoded.offsets)[ahead]
    written = column_of(batch.timestamps)[np.searchsorted(column_of(batch.offsets), offsets)]
    for offset, arrival in zip(offsets.tolist(), np.maximum(written, 0).tolist(), strict=True):
        dead.add(offset, arrival, Reason.TOO_FAR_AHEAD, field)
    dead.extend(decoded.dead)
    accepted = decoded.at(np.flatnonzero(~ahead))
    return replace(accepted, dead=dead.in_order(), refused=refused)


def _ahead(
    batch: Batch, offsets: Sequence[int], times: Sequence[int], most: int
) -> NDArray[np.bool_]:
    """Say of each of some records of a batch whether its time is too far ahead of Kafka's.

    A record without a time in Kafka (below 0) is ahead of it, whatever its own time is.
    """
    written = column_of(batch.timestamps)
    if len(offsets) < len(written):
        written = written[np.searchsorted(column_of(batch.offsets), column_of(offsets))]
    return (column_of(times) - most > written) | (written < 0)
