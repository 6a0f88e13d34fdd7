"""Making Kafka compact a topic now, instead of some day."""

import time
from contextlib import closing

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from tests.kafka.records import Placed, Record, produce

EAGER_BROKER = {"log.cleaner.backoff.ms": "100"}
EAGER_TOPIC = {
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "100",
}
DEADLINE_SECONDS = 40


def compact(bootstrap: str, topic: str) -> None:
    """Return once the first record of partition 0 is compacted away."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        brokers = [str(broker["broker_id"]) for broker in admin.describe_cluster()["brokers"]]
        admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, topic, configs=EAGER_TOPIC)]
            + [
                ConfigResource(ConfigResourceType.BROKER, id, configs=EAGER_BROKER)
                for id in brokers
            ]
        )
    deadline = time.monotonic() + DEADLINE_SECONDS
    while first_offset(bootstrap, topic) == 0:
        assert time.monotonic() < deadline, "Kafka did not compact the topic"
        now = time.time_ns() // 1_000_000
        produce(bootstrap, topic, [Placed(0, Record(b"roll", b"a new segment", timestamp=now))])
        time.sleep(0.3)


def first_offset(bootstrap: str, topic: str) -> int:
    """The offset of the first record that is still there."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, consumer_timeout_ms=10_000)
    with closing(consumer):
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        return int(next(consumer).offset)
