"""Write topics through producers of kafka-python."""

from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.kafka.client import Writer
from fugu.dataflows.kafka.failures import SILENCE_SECONDS, Silence, not_acknowledged, not_written

_UNACKNOWLEDGED_RECORDS = 20_000


class KafkaPythonWriter(Writer):
    """Write through an idempotent producer, without transactions; keep futures until checked."""

    def __init__(self, producer: KafkaProducer) -> None:
        self._producer = producer
        self._unchecked: list[Any] = []
        self._ends: dict[tuple[str, int], int] = {}

    def write(self, topic: str, outgoing: Outgoing) -> None:
        send, partition = self._producer.send, outgoing.partition
        try:
            for value, key, headers, timestamp in zip(
                outgoing.values, outgoing.keys, outgoing.headers, outgoing.timestamps, strict=True
            ):
                self._unchecked.append(send(topic, value, key, headers, partition, timestamp))
        except KafkaError as error:
            raise not_written(topic, partition, type(error).__name__) from None
        if len(self._unchecked) > _UNACKNOWLEDGED_RECORDS:
            self.flush()

    def flush(self) -> None:
        if not self._unchecked:
            return
        self._wait_for_acknowledgements()
        try:
            for future in self._unchecked:
                metadata = future.value if future.succeeded() else future.get(timeout=0)
                self._ends[metadata.topic, metadata.partition] = metadata.offset + 1
        except KafkaError as error:
            raise not_acknowledged(type(error).__name__) from None
        self._unchecked.clear()

    def _wait_for_acknowledgements(self) -> None:
        silence = Silence()
        while True:
            try:
                self._producer.flush(timeout=SILENCE_SECONDS)
                return
            except KafkaError:  # nothing came, or the batch waited for was split in two
                silence.goes_on()

    def acknowledged_end(self, topic: str, partition: int) -> int | None:
        return self._ends.get((topic, partition))

    def close(self) -> None:
        self._producer.close(timeout=0)
