"""Make, look at, read and remove the topics of the bench."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

import numpy as np
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from kafka import KafkaAdminClient, KafkaConsumer
from kafka import TopicPartition as StockPartition
from kafka.admin import ConfigResource, ConfigResourceType

from bench.child import ChildFailed
from fugu.operators.mechanism import Integers
from tests.kafka.topics import TopicFactory

_READ_AT_ONCE = 10_000
_READ_SECONDS = 0.1


@dataclass(frozen=True)
class Topics:
    """The broker's topics."""

    bootstrap: str

    @contextmanager
    def fresh(self, name: str, partitions: int, **configs: str) -> Iterator[str]:
        """A topic that is removed afterwards: all of them together would fill the disk."""
        topic = self.make(name, partitions, **configs)
        try:
            yield topic
        finally:
            self.remove(topic)

    @contextmanager
    def sink(self, partitions: int) -> Iterator[str]:
        """A fresh topic for what is published, and one for dead letters."""
        with self.fresh("sink", partitions) as topic:
            dead_letters = f"{topic}.dead"
            layout = {"num_partitions": partitions, "replication_factor": 1}
            with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
                admin.create_topics({dead_letters: layout}, wait_for_metadata=True)
            try:
                yield topic
            finally:
                self.remove(dead_letters)

    def make(self, name: str, partitions: int, **configs: str) -> str:
        """A topic that stays."""
        settings = {key.replace("_", "."): value for key, value in configs.items()}
        return TopicFactory(self.bootstrap)(name, partitions=partitions, configs=settings)

    def remove(self, topic: str) -> None:
        """With all that it holds."""
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            admin.delete_topics([topic])

    def stamp_by_broker(self, topic: str) -> None:
        """From here on a record's timestamp is the time at which the broker appended it."""
        change = {"message.timestamp.type": "LogAppendTime"}
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs=change)
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            admin.alter_configs([resource])

    @contextmanager
    def counted(self, topic: str, partitions: int) -> Iterator[Callable[[], int]]:
        """Return how many records a reader of committed data finds, and marks of transactions."""
        consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=None,
            isolation_level="read_committed",
        )
        wanted = [StockPartition(topic, number) for number in range(partitions)]
        with closing(consumer):
            yield lambda: sum(consumer.end_offsets(wanted).values())

    def messages(self, topic: str, partition: int) -> Iterator[list[Message]]:
        """All there is now in a partition, some thousand at a time."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "bench",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.queue.backoff.ms": 5,
            }
        )
        try:
            consumer.assign([TopicPartition(topic, partition, 0)])
            # Where less than asked for is there, `consume` waits all of its time.
            at_end = False
            while not at_end:
                came = consumer.consume(_READ_AT_ONCE, _READ_SECONDS)
                errors = [error for message in came if (error := message.error())]
                at_end = bool(errors)
                if any(error.code() != KafkaError._PARTITION_EOF for error in errors):
                    raise ChildFailed(f"{topic} cannot be read: {errors[0]}")
                yield [message for message in came if not message.error()]
        finally:
            consumer.close()

    def times(self, topic: str, partition: int) -> tuple[list[bytes], Integers]:
        """Keys and timestamps in milliseconds, in order."""
        keys: list[bytes] = []
        times: list[int] = []
        for messages in self.messages(topic, partition):
            keys += [bytes(message.key() or b"") for message in messages]
            times += [message.timestamp()[1] for message in messages]
        return keys, np.array(times, dtype=np.int64)
