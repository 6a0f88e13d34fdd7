"""The baseline: a bare consume-then-produce loop of stock kafka-python, in a process of its own.

Client settings are those of `dataflows/kafka/kafka_python.py`; what is produced has the sizes of a
release, but nothing is decoded, drawn, remembered or checked. It runs until SIGTERM:

    python -m bench.stock_loop BOOTSTRAP SOURCE SINK
"""

import signal
import sys
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

MAX_BATCH = 5_000
UNACKNOWLEDGED_RECORDS = 20_000
KEY = b"b7ef2dfaf71f4c0c9a7e3d2b1c0f5e6d"
VALUE = b'{"zone":"moderate","confidence":0.7425}'
HEADERS = [("fugu-release", b"0123456789abcdef0123456789abcdef"), ("fugu-guarantee", b"0" * 16)]


def consumer_of(bootstrap: str, topic: str) -> KafkaConsumer:
    """A consumer of all partitions of a topic, from the beginning."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="none",
        isolation_level="read_committed",
        fetch_max_wait_ms=100,
    )
    partitions = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic))]
    consumer.assign(partitions)
    for partition in partitions:
        consumer.seek(partition, 0)
    return consumer


class StockProducer:
    """An idempotent producer with as many unacknowledged records at most as in Fugu."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            acks="all",
            linger_ms=5,
            batch_size=131_072,
            retry_backoff_ms=100,
        )
        self._topic = topic
        self._unacknowledged = 0

    def send(self, records: list[Any]) -> None:
        """Produce one record of a release's sizes for each consumed one."""
        for record in records:
            self._producer.send(
                self._topic,
                value=VALUE,
                key=KEY,
                headers=HEADERS,
                partition=record.partition,
                timestamp_ms=record.timestamp,
            )
        self._unacknowledged += len(records)
        if self._unacknowledged > UNACKNOWLEDGED_RECORDS:
            self.flush()

    def flush(self) -> None:
        """Wait for every acknowledgement."""
        self._producer.flush()
        self._unacknowledged = 0

    def close(self) -> None:
        """Flush and close."""
        self._producer.close()


def main(bootstrap: str, source: str, sink: str) -> None:
    """Copy until SIGTERM."""
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    consumer, producer = consumer_of(bootstrap, source), StockProducer(bootstrap, sink)
    while not stopped:
        for records in consumer.poll(timeout_ms=100, max_records=MAX_BATCH).values():
            producer.send(records)
    producer.close()
    consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
