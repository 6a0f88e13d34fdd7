"""Send records of every shape through librdkafka's mock cluster, and compare what is read.

confluent-kafka's own calls write some of the records, so that reading is compared with something
else; what is then known to read well reads what compiled code writes.
"""

from fugu.dataflows.base.batches import Header
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.native.client import NativeClient
from fugu.dataflows.kafka.native.mock_cluster import MockCluster

_TOPICS = ("written-by-confluent-kafka", "written-by-compiled-code")
_PARTITIONS = 2
_SECONDS = 30.0

Record = tuple[int, bytes | None, bytes | None, list[Header]]
"""Timestamp, key, value and headers."""

_LONG = bytes(range(256)) * 400
_HEADERS: list[list[Header]] = [
    [],
    [("one", b"1")],
    [("fugu-release", b"\x00\xff" * 16), ("empty", b"")],
    [("same", b"1"), ("same", b"2"), ("", b"no name"), ("größer", _LONG)],
]
_KEYS_AND_VALUES = [
    (b"key", b'{"zone":"rest"}'),
    (b"", b""),
    (None, b"no key"),
    (_LONG, b"\x00"),
    (b"\x00\xff", _LONG),
]
_TIMESTAMPS = [1, 1_700_000_000_123, 253_402_300_799_999]
RECORDS: list[Record] = [
    (timestamp, key, value, headers)
    for timestamp in _TIMESTAMPS
    for key, value in _KEYS_AND_VALUES
    for headers in _HEADERS
]
TOMBSTONE: Record = (1, b"key", None, [])


def differences() -> str | None:
    """Say which records did not come back as they were; None if all did."""
    with MockCluster() as cluster:
        client = NativeClient(Connection(cluster.bootstrap, client="librdkafka"))
        for topic, write in zip(_TOPICS, (_write_by_confluent_kafka, _write), strict=True):
            cluster.create_topic(topic, _PARTITIONS)
            written = write(client, cluster.bootstrap, topic)
            read = _read(client, topic, sum(map(len, written)))
            for partition in range(_PARTITIONS):
                if read[partition] != written[partition]:
                    return f"records {topic} are not read as they were sent"
    return None
