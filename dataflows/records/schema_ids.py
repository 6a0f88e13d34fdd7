"""Read and write the id of a schema in front of content, as Confluent's serializers do."""

import numpy as np

from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.operators.mechanism import Integers

MAGIC = 0
"""The first byte."""
PREFIX_BYTES = 5
LARGEST_ID = 2**31 - 1


def schema_id(content: bytes | None) -> int | None:
    """Return the id of the schema that content begins with; None for what no registry gives."""
    if content is None or len(content) < PREFIX_BYTES or content[0] != MAGIC:
        return None
    number = int.from_bytes(content[1:PREFIX_BYTES], "big")
    return number if number <= LARGEST_ID else None


def prefix_of(number: int) -> bytes:
    """Return what stands in front of content that is written by a schema."""
    return bytes([MAGIC]) + number.to_bytes(PREFIX_BYTES - 1, "big")


def rows_by_schema(records: OptionalByteColumn) -> dict[int, Integers]:
    """Return the rows that begin with the id of each schema; others are left out."""
    content = np.ascontiguousarray(records.content)
    begins, lengths = records.begins, records.lengths
    rows = np.flatnonzero(lengths >= PREFIX_BYTES)
    heads = content[begins[rows][:, None] + np.arange(PREFIX_BYTES)].astype(np.int64)
    ids = heads[:, 1:] @ (256 ** np.arange(PREFIX_BYTES - 2, -1, -1))
    fitting = (heads[:, 0] == MAGIC) & (ids <= LARGEST_ID)
    rows, ids = rows[fitting], ids[fitting]
    return {int(number): rows[ids == number] for number in np.unique(ids)}
