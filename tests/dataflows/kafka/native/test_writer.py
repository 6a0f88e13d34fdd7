"""A writer ends with the first failure, waits for room, and gives back all memory."""

import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np
import psutil
import pytest
from confluent_kafka import KafkaError

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.columns import HeaderColumns, OptionalByteColumn
from fugu.dataflows.base.errors import DeliveryFailed
from fugu.dataflows.kafka import failures
from fugu.dataflows.kafka.native.writer import NativeWriter
from fugu.operators.columns import ByteColumn, IntegerColumn, table_of_integers
from tests.dataflows.kafka.native.cluster import PRODUCE, TOPIC, FaultyCluster, outgoing
from tests.kafka.clients import connected

Write = Callable[[NativeWriter], None]


@pytest.fixture
def writer(cluster: FaultyCluster) -> Iterator[NativeWriter]:
    with closing(cluster.writer()) as writer:
        yield writer


def values(cluster: FaultyCluster, end: int, partition: int = 0) -> list[bytes | None]:
    with closing(connected(cluster.bootstrap, "librdkafka").reader(TOPIC)) as reader:
        batches = reader.read_range(partition, 0, end)
        return [value for batch in batches for value in batch.values]


def columns(numbers: range) -> Outgoing:
    """Records that are columns: as many as there are numbers, which they hold."""
    array = np.array(numbers)
    own = ByteColumn.of_table(table_of_integers(array))
    headers = HeaderColumns(len(array), {"own": own, "common": b"the same for all"})
    keys = OptionalByteColumn(own.content, own.begins, own.lengths)
    return Outgoing(0, keys, own, headers, IntegerColumn(array + 1))


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, "Message size too large .*gap-less"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed .*gap-less"),
        (KafkaError.INVALID_RECORD, "failed to validate record .*gap-less"),
        (KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, r"\(OUT_OF_ORDER_SEQUENCE_NUMBER\)"),
    ],
)
def test_a_refused_record_is_the_last_one(
    writer: NativeWriter, cluster: FaultyCluster, error: int, says: str
) -> None:
    cluster.answer(PRODUCE, error)
    writer.write(TOPIC, outgoing(b"canary"))
    calls: list[Write] = [
        NativeWriter.flush,
        lambda writer: writer.write(TOPIC, outgoing(b"after")),
        NativeWriter.flush,
    ]
    for call in calls:
        with pytest.raises(DeliveryFailed, match=says) as caught:
            call(writer)
        assert "canary" not in str(caught.value)
    assert writer.acknowledged_end(TOPIC, 0) is None


@pytest.mark.parametrize(
    "error",
    [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.NOT_ENOUGH_REPLICAS, KafkaError.INVALID_MSG],
)
def test_what_passes_by_itself_is_waited_for(
    writer: NativeWriter, cluster: FaultyCluster, error: int
) -> None:
    cluster.answer(PRODUCE, error)
    writer.write(TOPIC, outgoing(b"0", b"1"))
    writer.flush()
    assert writer.acknowledged_end(TOPIC, 0) == 2
    assert values(cluster, 2) == [b"0", b"1"]


def test_a_broker_that_goes_away_costs_time_and_nothing_else(
    writer: NativeWriter, cluster: FaultyCluster
) -> None:
    writer.write(TOPIC, outgoing(b"0"))
    writer.flush()
    cluster.go_down()
    writer.write(TOPIC, outgoing(b"1"))
    timer = threading.Timer(1.5, cluster.come_up)
    timer.start()
    writer.flush()
    timer.join()
    assert writer.acknowledged_end(TOPIC, 0) == 2
    assert values(cluster, 2) == [b"0", b"1"]


def test_a_broker_that_stays_away_ends_the_writer_in_the_end(
    writer: NativeWriter, cluster: FaultyCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "_GIVE_UP_SECONDS", 1.5)
    cluster.go_down()
    writer.write(TOPIC, outgoing(b"0"))
    with pytest.raises(DeliveryFailed, match="acknowledged nothing for 2 s"):
        writer.flush()


def test_a_partition_that_is_not_there_is_named(writer: NativeWriter) -> None:
    writer.write(TOPIC, outgoing(b"0"))
    writer.flush()  # by now it is known how many there are
    with pytest.raises(DeliveryFailed, match=f"topic {TOPIC}, partition 9: .*UNKNOWN_PARTITION"):
        writer.write(TOPIC, outgoing(b"0", partition=9))


def test_a_record_beyond_the_largest_request_is_refused_and_those_before_it_are_not(
    writer: NativeWriter, cluster: FaultyCluster
) -> None:
    with pytest.raises(DeliveryFailed, match=f"topic {TOPIC}, partition 0: .*MSG_SIZE_TOO_LARGE"):
        writer.write(TOPIC, outgoing(b"before", b"x" * 2_000_000, b"after"))
    writer.flush()
    assert values(cluster, 1) == [b"before"]


def test_a_full_queue_is_waited_for(cluster: FaultyCluster) -> None:
    settings = {"queue.buffering.max.messages": 700}
    with closing(cluster.writer(**settings)) as writer:
        writer.write(TOPIC, columns(range(5_000)))
        writer.flush()
        assert writer.acknowledged_end(TOPIC, 0) == 5_000
    assert values(cluster, 5_000) == list(columns(range(5_000)).values)


def test_what_is_not_acknowledged_is_given_up_by_closing(
    writer: NativeWriter, cluster: FaultyCluster
) -> None:
    cluster.go_down()
    writer.write(TOPIC, outgoing(b"0", b"1"))
    begun = time.monotonic()
    writer.close()
    assert time.monotonic() - begun < 5
    with pytest.raises(DeliveryFailed, match="_PURGE"):
        writer.flush()


def test_a_writer_that_nobody_knows_leaves_no_thread(cluster: FaultyCluster) -> None:
    others = set(threading.enumerate())
    writer = cluster.writer()
    writer.write(TOPIC, outgoing(b"0"))
    writer.flush()
    writer.close()
    [thread] = set(threading.enumerate()) - others
    del writer
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()


PROCESS = """
from tests.dataflows.kafka.native.cluster import TOPIC, FaultyCluster, outgoing
cluster = FaultyCluster().__enter__()
cluster.create_topic(TOPIC, 1)
writers = [cluster.writer() for _ in range(3)]
cluster.go_down()
for writer in writers:
    writer.write(TOPIC, outgoing(b"0"))
raise SystemExit(3)
"""


@pytest.mark.slow
def test_a_process_ends_by_itself_whatever_its_writers_do() -> None:
    done = subprocess.run([sys.executable, "-c", PROCESS], capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (3, b"")


@pytest.mark.slow
def test_a_million_records_take_no_more_memory_than_the_first_ones(cluster: FaultyCluster) -> None:
    process = psutil.Process()
    batch = columns(range(10_000))
    with closing(cluster.writer()) as writer:

        def write(batches: int) -> int:
            for _ in range(batches):
                writer.write(TOPIC, batch)
            writer.flush()
            return int(process.memory_info().rss)

        before = write(30)
        assert write(100) - before < 30_000_000, "a record takes more than a hundred bytes"
