"""The snapshot of a sink comes last: after acknowledgements, and after what else an epoch keeps."""

from contextlib import closing
from typing import cast

from confluent_kafka import KafkaError

from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.sink import KafkaSink, KafkaSinkPart
from tests.dataflows.kafka.native.cluster import PRODUCE, TOPIC, FaultyCluster, outgoing
from tests.dataflows.kafka.test_behind_all import Noting


def test_a_sink_waits_for_what_is_written_beside_the_dataflow() -> None:
    writer = Noting()
    sink = KafkaSink(
        cast(Client, None), writer, "log", {0: 0}, None, wait=lambda: writer.calls.append("wait")
    )
    KafkaSinkPart(sink, writer, 0, 0, 9, {}).snapshot()
    assert writer.calls == ["flush", "wait"]


def test_a_broker_that_forgot_where_it_put_records_does_not_move_the_end_back() -> None:
    """It then says only that they are there; librdkafka reports offsets from -1 on."""
    with FaultyCluster() as cluster:
        cluster.create_topic(TOPIC, 1)
        with closing(cluster.writer()) as writer:
            sink = KafkaSink(cast(Client, None), writer, TOPIC, {0: 0}, None)
            part = KafkaSinkPart(sink, writer, 0, 0, 9, {})
            cluster.answer(PRODUCE, KafkaError.DUPLICATE_SEQUENCE_NUMBER)
            part.write_batch([outgoing(b"0", b"1", b"2")])
            assert part.snapshot() == 9
