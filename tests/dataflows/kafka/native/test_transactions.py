"""Transactions that Kafka does not take: waited for, given up, or taken over by somebody."""

from collections import Counter
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import KafkaError

from fugu.dataflows.base.errors import DeliveryFailed
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.native import writer
from fugu.dataflows.kafka.native.client import NativeClient
from fugu.dataflows.kafka.native.library import library
from tests.dataflows.kafka.native.cluster import (
    END_TRANSACTION,
    INIT_PRODUCER,
    PRODUCE,
    TOPIC,
    FaultyCluster,
    outgoing,
)

IDENTITY = "fugu.pipeline.topic.0"


@pytest.mark.parametrize("error", [KafkaError.COORDINATOR_LOAD_IN_PROGRESS])
def test_what_passes_by_itself_is_waited_for(cluster: FaultyCluster, error: int) -> None:
    cluster.answer(INIT_PRODUCER, error, error)
    with closing(cluster.owner(IDENTITY)) as owner:
        owner.write(TOPIC, outgoing(b"0"))
        cluster.answer(END_TRANSACTION, error)
        owner.flush()
        assert owner.acknowledged_end(TOPIC, 0) == 1


@pytest.mark.parametrize("error", [KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED])
def test_an_owner_that_was_shut_out_says_by_whom(cluster: FaultyCluster, error: int) -> None:
    with closing(cluster.owner(IDENTITY)) as owner:
        owner.write(TOPIC, outgoing(b"0"))
        cluster.answer(END_TRANSACTION, error)
        with pytest.raises(DeliveryFailed, match="another process has taken over") as caught:
            owner.flush()
        assert IDENTITY in str(caught.value)


def test_an_identity_that_may_not_be_used_says_what_to_grant(cluster: FaultyCluster) -> None:
    cluster.answer(INIT_PRODUCER, KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    with pytest.raises(DeliveryFailed, match=f"{IDENTITY}. Grant Describe and Write on it"):
        cluster.owner(IDENTITY)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "grant Describe and Write on those that begin with fugu.pipeline.",
        ),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "them (CLUSTER_AUTHORIZATION_FAILED)"),
        (KafkaError.NO_ERROR, ""),
    ],
)
def test_transactions_are_tried_out_before_they_are_used(
    cluster: FaultyCluster, error: int, said: str
) -> None:
    if error:
        cluster.answer(INIT_PRODUCER, error)
    client = NativeClient(Connection(cluster.bootstrap, transactions="auto"))
    assert said in client.without_transactions("pipeline")
    assert bool(client.without_transactions("pipeline")) is bool(said)
    with closing(client.writer("pipeline.topic.shard-0000")) as writer:
        assert (writer.owner_of(TOPIC, 0) is writer) is bool(said)
        writer.owner_of(TOPIC, 0).close()


def test_a_refused_record_keeps_its_transaction_from_being_committed(
    cluster: FaultyCluster,
) -> None:
    with closing(cluster.owner(IDENTITY)) as owner:
        cluster.answer(PRODUCE, KafkaError.INVALID_RECORD)
        owner.write(TOPIC, outgoing(b"0"))
        with pytest.raises(DeliveryFailed, match="INVALID_RECORD"):
            owner.flush()


def test_what_is_abandoned_before_it_was_sent_is_no_failure(cluster: FaultyCluster) -> None:
    with closing(cluster.owner(IDENTITY, **{"linger.ms": 60_000})) as owner:
        owner.write(TOPIC, outgoing(b"0"))
        owner.abandon()
        owner.write(TOPIC, outgoing(b"1"))
        owner.flush()
        assert owner.acknowledged_end(TOPIC, 0) == 1


class CountingLibrary:
    """librdkafka, with counts of the errors that it returned and that were freed."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        function = getattr(library(), name)

        def call(*arguments: Any) -> Any:
            result = function(*arguments)
            if name.endswith(("_transaction", "_transactions")):
                self.counts["returned"] += bool(result)
            self.counts["freed"] += name == "rd_kafka_error_destroy"
            return result

        return call


def test_every_error_is_freed_once(cluster: FaultyCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = CountingLibrary()
    monkeypatch.setattr(writer, "library", lambda: counting)
    with closing(cluster.owner(IDENTITY)) as owner:
        owner.write(TOPIC, outgoing(b"0"))
        cluster.answer(END_TRANSACTION, KafkaError.INVALID_PRODUCER_EPOCH)
        with pytest.raises(DeliveryFailed):
            owner.flush()
    assert counting.counts["returned"] == counting.counts["freed"] > 0
