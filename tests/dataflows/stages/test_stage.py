"""Give rows to keys of this partition, up to the limit; everybody known goes on."""

from zlib import crc32

import pytest
from kafka.partitioner.default import murmur2

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.kafka.partitioner import Partitioner
from fugu.dataflows.stages.stage import Admission
from tests.dataflows.stages.columns import batch_of, codec, lift, new_table

VALUE = b'{"zone": "rest"}'
KEYS = [b"user-%d" % number for number in range(200)]


def own(partitioner: Partitioner) -> list[bytes]:
    if partitioner == "crc32":
        return [key for key in KEYS if crc32(key) % 4 == 2]
    return [key for key in KEYS if (murmur2(key) & 0x7FFFFFFF) % 4 == 2]


@pytest.mark.parametrize("partitioner", ["murmur2", "crc32"])
def test_keys_that_belong_elsewhere_are_refused(partitioner: Partitioner) -> None:
    table = new_table()
    admission = Admission(partitioner, partitions=4, max_keys=1000)
    sanitized = lift(admission=admission)(
        codec().decode(batch_of([(key, VALUE) for key in KEYS])), table
    )
    assert sanitized.keys == own(partitioner)
    assert set(sanitized.dead.reasons) == {Reason.WRONG_PARTITION}
    assert len(table) == len(own(partitioner))


def test_murmur2_is_that_of_java_producers() -> None:
    """Values of Apache Kafka's own test of its hash."""
    known = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}
    for key, expected in known.items():
        assert murmur2(key) & 0xFFFFFFFF == expected & 0xFFFFFFFF


def test_beyond_the_limit_new_keys_are_refused_and_known_ones_go_on() -> None:
    table = new_table()
    limited = lift(admission=Admission("unchecked", partitions=4, max_keys=2))
    records = [(b"a", VALUE), (b"b", VALUE), (b"c", VALUE), (b"a", VALUE), (b"c", VALUE)]
    sanitized = limited(codec().decode(batch_of(records)), table)
    assert sanitized.keys == [b"a", b"b", b"a"]
    assert sanitized.dead.offsets == [2, 4]
    assert sanitized.dead.reasons == [Reason.TOO_MANY_KEYS] * 2
    later = limited(codec().decode(batch_of([(b"b", VALUE)], first_offset=5)), table)
    assert later.keys == [b"b"]


def test_a_flood_of_new_keys_leaves_the_table_as_it_is() -> None:
    table = new_table()
    limited = lift(admission=Admission("unchecked", partitions=1, max_keys=10))
    for first in range(0, 20_000, 5_000):
        flood = [(b"%d" % number, VALUE) for number in range(first, first + 5_000)]
        limited(codec().decode(batch_of(flood, first_offset=first)), table)
    assert len(table) == 10


def test_dead_letters_of_all_stages_come_in_input_order() -> None:
    limited = lift(admission=Admission("unchecked", partitions=4, max_keys=1))
    records = [(b"a", VALUE), (b"b", VALUE), (b"a", None), (b"c", VALUE), (None, VALUE)]
    sanitized = limited(codec().decode(batch_of(records)), new_table())
    assert sanitized.dead.offsets == [1, 2, 3, 4]
