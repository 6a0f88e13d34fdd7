"""Columns of lists as columns of arrays, as a client that makes no objects has them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fugu.dataflows.base.batches import Decoded
from fugu.operators.columns import ByteColumn, IntegerColumn


def in_arrays(decoded: Decoded) -> Decoded:
    """The same records."""
    return replace(
        decoded,
        offsets=IntegerColumn(np.array(decoded.offsets, dtype=np.int64)),
        timestamps=IntegerColumn(np.array(decoded.timestamps, dtype=np.int64)),
        keys=scattered(decoded.keys),
    )


def scattered(keys: Sequence[bytes]) -> ByteColumn:
    """Keys that lie in another order than they come in, with something else between them."""
    parts = [part for key in keys for part in (b"\xff", key)]
    return ByteColumn.of(parts[::-1]).taken(np.arange(len(parts) - 2, -1, -2))
