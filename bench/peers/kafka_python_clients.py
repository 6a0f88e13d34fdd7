"""kafka-python for peers that write their own loop: settings that matter, and why.

Pages: kafka-python's documentation of `KafkaConsumer` and `KafkaProducer`.
"""

from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

BATCH = 5_000
"""For `poll`: by default it returns 500 records at most."""


def consumer_of(bootstrap: str, topic: str) -> Any:
    """A consumer of all partitions from the beginning, outside of any group."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, enable_auto_commit=False)
    partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    return consumer


def producer_of(bootstrap: str) -> Any:
    """An idempotent producer, as it is by default."""
    return KafkaProducer(
        bootstrap_servers=bootstrap,
        acks="all",
        # KafkaProducer: "linger_ms", "batch_size": larger batches are fewer requests.
        linger_ms=5,
        batch_size=131_072,
    )
