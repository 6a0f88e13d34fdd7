"""Read topics through consumers of kafka-python."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, SupportsIndex

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import (
    AuthorizationError,
    KafkaError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
    UnsupportedCodecError,
)
from kafka.record.default_records import DefaultRecordBatch

from fugu.dataflows.base.batches import Batch, Header
from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import Bounds, Reader
from fugu.dataflows.kafka.failures import (
    EACH_SECONDS,
    NotUnpacked,
    offset_gone,
    offsets_unreadable,
    scan,
    topic_unreadable,
)
from fugu.dataflows.kafka.kafka_python_refusals import right_missing
from fugu.dataflows.kafka.kafka_python_unpacking import Enough, StaysPacked, bounded


class KafkaPythonReader(Reader):
    """Read through a consumer with manual assignment."""

    def __init__(self, topic: str, consumer: KafkaConsumer, most: int) -> None:
        """Unpack batches to so many bytes at most; with 0, only say which ones are packed."""
        self._topic = topic
        self._consumer = consumer
        self._allowance = bounded(consumer, most)

    def assign(self, offsets: Mapping[int, int], epochs: Mapping[int, int] | None = None) -> None:
        self._consumer.assign([TopicPartition(self._topic, p) for p in offsets])
        for partition, offset in offsets.items():
            self._consumer.seek(TopicPartition(self._topic, partition), offset)

    def pass_over(self, partition: int, offset: int) -> None:
        self._consumer.seek(TopicPartition(self._topic, partition), offset)

    def poll(self, max_records: int) -> list[Batch]:
        self._allowance.renew()
        with suppress(Enough):  # the poll before had enough
            return self._poll(max_records)
        return self._poll(max_records)

    def _poll(self, max_records: int) -> list[Batch]:
        try:
            polled = self._consumer.poll(timeout_ms=0, max_records=max_records)
        except StaysPacked as error:
            raise self._not_unpacked(error) from None
        except OffsetOutOfRangeError as error:
            partition, offset = next(iter(error.args[0].items()))
            raise offset_gone(self._topic, partition.partition, offset) from None
        except AuthorizationError as error:
            raise right_missing(self._topic, type(error)) from None
        except UnsupportedCodecError as error:
            raise KafkaUnavailable(
                f"topic {self._topic} is compressed in a way that cannot be read here ({error}). "
                "Install what is missing:  pip install 'kafka-python[lz4,snappy,zstd]'"
            ) from None
        except KafkaError as error:
            raise topic_unreadable(self._topic, type(error).__name__) from None
        return [_batch(partition.partition, records) for partition, records in polled.items()]

    def bounds(self, partitions: list[int]) -> dict[int, Bounds]:
        try:
            return self._bounds(partitions)
        except KafkaError as error:
            raise offsets_unreadable(self._topic, type(error).__name__) from None

    def bounds_now(self, partitions: Sequence[int], seconds: float) -> dict[int, Bounds | str]:
        """Ask for all at once; one by one where Kafka does not say it of some."""
        until = time.monotonic() + seconds
        try:
            return {**self._bounds(partitions, EACH_SECONDS)}
        except KafkaError as error:
            if len(partitions) == 1:
                return {partitions[0]: type(error).__name__}
        told = dict[int, Bounds | str]()
        for partition in partitions:
            if time.monotonic() < until:
                told |= self.bounds_now([partition], EACH_SECONDS)
        return told

    def position(self, partition: int) -> int | None:
        try:
            position = self._consumer.position(TopicPartition(self._topic, partition), timeout_ms=0)
        except KafkaError:  # the next poll reports what is wrong
            return None
        return None if position is None else int(position)

    def _not_unpacked(self, found: StaysPacked) -> NotUnpacked:
        first = max(found.base, self.position(found.partition) or 0)
        offsets, most = range(first, found.last + 1), self._allowance.most
        return NotUnpacked(self._topic, found.partition, offsets, found.timestamp, most)

    def read_range(self, partition: int, start: int, end: int) -> Iterator[Batch]:
        self.assign({partition: start})
        topic_partition = TopicPartition(self._topic, partition)

        def position() -> int:
            return self._consumer.position(topic_partition) or start

        return scan(self._topic, partition, end, self.poll, position)

    def _bounds(self, partitions: Sequence[int], seconds: float | None = None) -> dict[int, Bounds]:
        places = [TopicPartition(self._topic, partition) for partition in partitions]
        milliseconds = None if seconds is None else int(seconds * 1000)
        try:
            starts = self._consumer.beginning_offsets(places, milliseconds)
            ends = self._consumer.end_offsets(places, milliseconds)
        except KeyError:  # it looks for a partition that the broker did not know
            raise UnknownTopicOrPartitionError from None
        return {one.partition: Bounds(starts[one], ends[one]) for one in places}

    def close(self) -> None:
        self._consumer.close()


def _batch(partition: int, records: list[Any]) -> Batch:
    return Batch(
        partition,
        [record.offset for record in records],
        [record.timestamp for record in records],
        [record.key for record in records],
        [record.value for record in records],
        [_readable(record.headers) for record in records],
    )


def _readable(headers: list[Header]) -> list[Header]:
    """Return headers as librdkafka's reader does: none where a name is no text."""
    return [] if any(name is _NO_TEXT for name, _ in headers) else headers


_NO_TEXT = "no text"
"""Stands for the name of a header; one that is equal is another object."""


class _AnyNames(bytearray):
    """Hold records, of which names of headers need not be text."""

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return found if isinstance(at, SupportsIndex) else _Name(found)


class _Name(bytearray):
    """Hold the name of a header; one that is no text becomes `_NO_TEXT`."""

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        try:
            return super().decode(encoding, errors)
        except UnicodeDecodeError:
            return _NO_TEXT


_read_record: Any = DefaultRecordBatch._read_msg


def _read_any_record(batch: Any, *options: Any) -> Any:
    """Read the next record of a batch; kafka-python stops for ever where a name is no text."""
    try:
        return _read_record(batch, *options)
    except UnicodeDecodeError:
        batch._buffer = _AnyNames(batch._buffer)
        return _read_record(batch, *options)


DefaultRecordBatch._read_msg = _read_any_record
