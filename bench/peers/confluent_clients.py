"""confluent-kafka for peers that write their own loop: settings that matter, and why.

Pages: librdkafka's CONFIGURATION.md and INTRODUCTION.md ("Performance").
"""

from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

BATCH = 5_000
WAIT_SECONDS = 0.02
"""The seconds that `consume` waits for a full batch, which add to latency where load is low."""


def consumer_of(bootstrap: str, topic: str) -> Any:
    """A consumer of all partitions from the beginning, outside of any group's management."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "peer",
            "enable.auto.commit": False,
            # CONFIGURATION.md: how long the consumer pauses once its queue is full enough (default
            # 1000 ms); a program that empties the queue faster than that would wait for it.
            "fetch.queue.backoff.ms": 5,
        }
    )
    partitions = consumer.list_topics(topic).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
    return consumer


def producer_of(bootstrap: str) -> Any:
    """An idempotent producer."""
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            # INTRODUCTION.md, "Idempotent Producer": no duplicates and no reordering by retries.
            "enable.idempotence": True,
            # INTRODUCTION.md, "Performance": linger.ms is the most important setting.
            "linger.ms": 5,
            # CONFIGURATION.md: the limit in messages is reached long before that in bytes.
            "queue.buffering.max.messages": 500_000,
            # CONFIGURATION.md: "only provide delivery reports for failed messages".
            "delivery.report.only.error": True,
        }
    )
