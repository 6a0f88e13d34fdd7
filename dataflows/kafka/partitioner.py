"""Compute which partition a producer sends a key to."""

from collections.abc import Sequence
from typing import Literal
from zlib import crc32

import numpy as np

from fugu.operators import compiled
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Integers

Hash = Literal["murmur2", "crc32"]
"""Say by what producers choose the partition of a key."""
Partitioner = Literal[Hash, "unchecked"]

_POSITIVE = 0x7FFFFFFF


def partition_of(key: bytes, partitions: int, partitioner: Hash = "murmur2") -> int:
    """Return the partition; murmur2 is the default of Java and kafka-python producers.

    kafka-python is imported when a key is hashed: who uses a mechanism alone needs none of it.
    """
    from kafka.partitioner.default import murmur2

    digest = crc32(key) if partitioner == "crc32" else int(murmur2(key)) & _POSITIVE
    return digest % partitions


def partitions_of(keys: Sequence[bytes], partitions: int, partitioner: Hash) -> Integers:
    """Return the partition of each key."""
    if partitioner == "murmur2" and compiled.available():
        from fugu.dataflows.kafka.compiled_murmur2 import murmur2_of

        hashes = murmur2_of(ByteColumn.of(keys)).astype(np.int64)
        return (hashes & _POSITIVE) % partitions
    return np.array([partition_of(key, partitions, partitioner) for key in keys], dtype=np.int64)
