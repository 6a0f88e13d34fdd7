"""Read what librdkafka says about a group, and know a member that is none."""

import pytest
from confluent_kafka import Consumer

from fugu.dataflows.kafka.client import GroupMetadata


def test_a_consumer_that_has_not_joined_is_no_member() -> None:
    consumer = Consumer({"bootstrap.servers": "localhost:1", "group.id": "house", "log_level": 0})
    known = GroupMetadata.read(consumer.consumer_group_metadata())
    assert (known.generation, known.group, known.member) == (-1, "house", "")
    assert not known.is_of("")
    assert not known.is_of("somebody")


@pytest.mark.parametrize("written", [b"", b"CGMDv1:" + bytes(12), b"CGMDv2:\0\0\0\0group\0me"])
def test_another_form_is_refused(written: bytes) -> None:
    with pytest.raises(ValueError, match="in another form"):
        GroupMetadata.read(written)
