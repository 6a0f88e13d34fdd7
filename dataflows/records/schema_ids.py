"""Read and write the id of a schema in front of content, as Confluent's serializers do."""

from collections.abc import Iterable

import numpy as np

from fugu.dataflows.base.columns import OptionalByteColumn

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


def ids_in(contents: Iterable[bytes | None]) -> set[int]:
    """Return the ids of all schemas that some of these begin with."""
    if not isinstance(contents, OptionalByteColumn):
        return {one for content in contents if (one := schema_id(content)) is not None}
    begins = contents.begins[contents.lengths >= PREFIX_BYTES]
    heads = contents.content[begins[:, None] + np.arange(PREFIX_BYTES)].astype(np.int64)
    numbers = np.unique(heads @ 256 ** np.arange(PREFIX_BYTES - 1, -1, -1))
    return set(numbers[numbers <= LARGEST_ID].tolist())  # and MAGIC is 0
