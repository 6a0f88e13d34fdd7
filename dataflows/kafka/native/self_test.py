"""Send records of every shape through librdkafka's mock cluster, and compare what is read."""

import time
from contextlib import closing
from itertools import product
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Producer

from fugu.dataflows.base.batches import Header, Outgoing
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.native.client import NativeClient
from fugu.dataflows.kafka.native.consumer import producer_of
from fugu.dataflows.kafka.native.library import library, name_of


class MockCluster:
    """Run one broker while the context is open."""

    def __enter__(self) -> Self:
        self._owner = producer_of({})
        self._cluster = library().rd_kafka_mock_cluster_new(self._owner, 1)
        if not self._cluster:
            library().rd_kafka_destroy(self._owner)
            raise OSError("librdkafka did not start its mock cluster")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        library().rd_kafka_mock_cluster_destroy(self._cluster)
        library().rd_kafka_destroy(self._owner)

    @property
    def bootstrap(self) -> str:
        """Return the address of the broker."""
        return str(library().rd_kafka_mock_cluster_bootstraps(self._cluster).decode())

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic."""
        calls = library()
        if error := calls.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, 1):
            raise OSError(f"the mock cluster did not create a topic ({name_of(error)})")


# Send records of every shape through librdkafka's mock cluster, and compare what is read.
#
# confluent-kafka's own calls write a part of them, so that reading is compared with something
# else; what is then known to read well reads what compiled code writes.


_TOPIC = "self-test"
_PARTITIONS = 2
_SOME = 50
"""Records of one poll."""
_SECONDS = 30.0

Record = tuple[int, bytes | None, bytes | None, list[Header]]
"""Timestamp, key, value and headers."""

_LONG = bytes(range(256)) * 40
_TIMESTAMPS = [1, 1_700_000_000_123, 253_402_300_799_999]
_KEYS_AND_VALUES: list[tuple[bytes | None, bytes | None]] = [
    (b"key", b'{"zone":"rest"}'),
    (b"", b""),
    (None, b"no key"),
    (_LONG, b"\x00"),
    (b"\x00\xff", _LONG),
]
_HEADERS: list[list[Header]] = [
    [],
    [("one", b"1")],
    [("fugu-release", b"\x00\xff" * 16), ("empty", b"")],
    [("same", b"1"), ("same", b"2"), ("", b"no name"), ("größer", _LONG)],
]
RECORDS: list[Record] = [
    (timestamp, key, value, headers)
    for timestamp, (key, value), headers in product(_TIMESTAMPS, _KEYS_AND_VALUES, _HEADERS)
]
_TOMBSTONE: Record = (1, b"key", None, [])
_EXPECTED = [*RECORDS, _TOMBSTONE, *RECORDS]


def difference() -> str | None:
    """Say what does not come back as it was sent; None if everything does."""
    with MockCluster() as cluster:
        cluster.create_topic(_TOPIC, _PARTITIONS)
        client = NativeClient(Connection(cluster.bootstrap, client="librdkafka"))
        _write_by_library(cluster.bootstrap)
        _write_by_compiled_code(client)
        read = _read(client)
    for partition, records in enumerate(read):
        if len(records) != len(_EXPECTED):
            return f"{len(records)} of {len(_EXPECTED)} records were read"
        for number, (record, expected) in enumerate(zip(records, _EXPECTED, strict=True)):
            if record != expected:
                return f"record {number} of partition {partition} is not read as it was sent"
    return None


def _write_by_library(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for partition in range(_PARTITIONS):
        for timestamp, key, value, headers in [*RECORDS, _TOMBSTONE]:
            own: list[Any] = list(headers)
            producer.produce(_TOPIC, value, key, partition, timestamp=timestamp, headers=own)
    if producer.flush(_SECONDS):
        raise TimeoutError("confluent-kafka did not write to the mock cluster")


def _write_by_compiled_code(client: NativeClient) -> None:
    timestamps, keys, values, headers = map(list, zip(*RECORDS, strict=True))
    with closing(client.writer()) as writer:
        for partition in range(_PARTITIONS):
            writer.write(_TOPIC, Outgoing(partition, keys, values, headers, timestamps))
        writer.flush()
        ends = [writer.acknowledged_end(_TOPIC, partition) for partition in range(_PARTITIONS)]
    if ends != [len(_EXPECTED)] * _PARTITIONS:
        raise ValueError("the ends of what was written are not known")


def _read(client: NativeClient) -> list[list[Record]]:
    found: list[list[Record]] = [[] for _ in range(_PARTITIONS)]
    deadline = time.monotonic() + _SECONDS
    with closing(client.reader(_TOPIC, headers=True)) as reader:
        reader.assign(dict.fromkeys(range(_PARTITIONS), 0))
        while min(map(len, found)) < len(_EXPECTED) and time.monotonic() < deadline:
            for batch in reader.poll(_SOME):
                records = found[batch.partition]
                if list(batch.offsets) != list(
                    range(len(records), len(records) + len(batch.offsets))
                ):
                    raise ValueError("offsets are not read as they are")
                records += [record[1:] for record in batch.records()]
            time.sleep(0.001)
    return found
