"""A source that lost its newest records, and holds others at their offsets, is not passed over."""

from contextlib import closing
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.structs import OffsetAndMetadata, TopicPartition

from fugu.dataflows.base.errors import NO_RESTART_HELPS
from tests.faults.copies import committed, copied_document
from tests.kafka.broker import Broker
from tests.kafka.pipelines import MEMORYLESS, Document, check_refusal, running, write_pipeline
from tests.kafka.records import read_topic
from tests.kafka.topics import TopicFactory

FEW = 20


def feed(bootstrap: str, source: str, key: bytes) -> None:
    """Write records, each in a batch of its own."""
    with closing(KafkaProducer(bootstrap_servers=bootstrap)) as producer:
        for _ in range(FEW):
            producer.send(source, b'{"zone": "rest"}', key, partition=0).get(timeout=30)


@pytest.mark.slow
def test_records_at_offsets_of_lost_ones_are_neither_passed_over_nor_drawn_twice(
    broker: Broker, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("private")
    document = copied_document(broker.bootstrap, topics, source, partitions=1)
    pipeline = write_pipeline(tmp_path, document, MEMORYLESS)
    with running(pipeline) as process:
        feed(broker.bootstrap, source, b"before")
        process.wait_until(lambda: committed(broker.bootstrap, document) == FEW)
        assert process.stop() == 0, process.stderr
    broker.stop()
    broker.lose_newest(source)
    broker.start()
    with running(pipeline) as process:
        assert "or the topic was truncated" in check_refusal(process)
        assert process.exit_code() == NO_RESTART_HELPS
    feed(broker.bootstrap, source, b"after")
    for _ in range(2):
        with running(pipeline) as process:
            assert "other records have offsets of truncated ones" in check_refusal(process)
            assert process.exit_code() == NO_RESTART_HELPS
    assert committed(broker.bootstrap, document) == FEW
    stands_at(broker.bootstrap, document, FEW)
    with running(pipeline) as process:
        process.wait_until(lambda: committed(broker.bootstrap, document) > FEW)
        assert process.stop() == 0, process.stderr
    held = len(read_topic(broker.bootstrap, source)[0])
    assert committed(broker.bootstrap, document) == held


def stands_at(bootstrap: str, document: Document, offset: int) -> None:
    """Set the position of the group, as kafka-consumer-groups.sh --reset-offsets does."""
    place = TopicPartition(document["source"]["topic"], 0)
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.alter_group_offsets(
            f"fugu.{document['name']}", {place: OffsetAndMetadata(offset, "", -1)}
        )
