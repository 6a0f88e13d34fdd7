"""Compute which partition a producer sends a key to."""

from typing import Literal
from zlib import crc32

Partitioner = Literal["murmur2", "crc32", "unchecked"]

_POSITIVE = 0x7FFFFFFF


def partition_of(
    key: bytes, partitions: int, partitioner: Literal["murmur2", "crc32"] = "murmur2"
) -> int:
    """Return the partition; murmur2 is the default of Java and kafka-python producers.

    kafka-python is imported when a key is hashed: who uses a mechanism alone needs none of it.
    """
    from kafka.partitioner.default import murmur2

    digest = crc32(key) if partitioner == "crc32" else int(murmur2(key)) & _POSITIVE
    return digest % partitions
