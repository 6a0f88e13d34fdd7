"""Partitions of keys, many at once: those of each by itself, and those of Java producers."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.kafka.partitioner import partition_of, partitions_of
from fugu.operators.columns import ByteColumn

KNOWN = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}
"""Values of Apache Kafka's own test of its hash."""


@pytest.mark.parametrize("partitioner", ["murmur2", "crc32"])
@given(keys=st.lists(st.binary(max_size=30), max_size=30), partitions=st.integers(1, 1000))
def test_many_keys_go_where_each_goes_by_itself(
    partitioner: Literal["murmur2", "crc32"], keys: list[bytes], partitions: int
) -> None:
    each = [partition_of(key, partitions, partitioner) for key in keys]
    assert partitions_of(keys, partitions, partitioner).tolist() == each
    assert partitions_of(ByteColumn.of(keys), partitions, partitioner).tolist() == each


def test_keys_go_where_producers_in_java_send_them() -> None:
    partitions = 2**31
    positive = [digest & 0x7FFFFFFF for digest in KNOWN.values()]
    assert partitions_of(list(KNOWN), partitions, "murmur2").tolist() == positive
