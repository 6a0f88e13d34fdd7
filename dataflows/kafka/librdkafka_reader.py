"""Read with librdkafka: `consume` into columns."""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from kafka.errors import TopicAuthorizationFailedError

from fugu.dataflows.base.batches import Batch, Header
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kafka.client import Bounds, Reader
from fugu.dataflows.kafka.failures import offset_gone, offsets_unreadable, scan, topic_unreadable
from fugu.dataflows.kafka.kafka_python_refusals import right_missing

_PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.05
_PASSING = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._TRANSPORT,
}
_NO_HEADERS: list[Header] = []

_milliseconds = itemgetter(1)


class LibrdkafkaReader(Reader):
    """Read through a consumer with manual assignment."""

    def __init__(self, topic: str, consumer: Consumer, headers: bool) -> None:
        self._topic = topic
        self._consumer = consumer
        self._headers = headers
        self._positions: dict[int, int] = {}

    def assign(self, offsets: Mapping[int, int]) -> None:
        self._positions = dict(offsets)
        self._consumer.assign([TopicPartition(self._topic, p, o) for p, o in offsets.items()])

    def poll(self, max_records: int) -> list[Batch]:
        return self._poll(max_records, with_headers=self._headers)

    def bounds(self, partitions: list[int]) -> dict[int, Bounds]:
        return {partition: self._bounds(partition) for partition in partitions}

    def position(self, partition: int) -> int | None:
        return self._positions.get(partition)

    def read_range(self, partition: int, start: int, end: int) -> Iterator[Batch]:
        self.assign({partition: start})
        poll = partial(self._poll, with_headers=True)
        return scan(self._topic, partition, end, poll, lambda: self._positions[partition])

    def close(self) -> None:
        self._consumer.close()

    def _poll(self, max_records: int, *, with_headers: bool) -> list[Batch]:
        messages = self._consumer.consume(max_records, 0)
        ends: list[Message] = []
        if any(map(Message.error, messages)):
            ends = [message for message in messages if self._is_end(message)]
            messages = [message for message in messages if message.error() is None]
        batches = [
            _batch(partition, own, with_headers)
            for partition, own in _by_partition(messages).items()
        ]
        for batch in batches:
            self._positions[batch.partition] = batch.offsets[-1] + 1
        for message in ends:
            partition, offset = int(message.partition() or 0), int(message.offset() or 0)
            self._positions[partition] = max(self._positions[partition], offset)
        return batches

    def _is_end(self, message: Message) -> bool:
        """Return whether an event, which comes in place of a record, is the end of a partition."""
        error = message.error()
        if error is None or message.topic() is None:
            return False  # of the group, which is not used
        if error.code() != KafkaError._PARTITION_EOF:
            raise self._failure(int(message.partition() or 0), error)
        return True

    def _failure(self, partition: int, error: KafkaError) -> FuguError:
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            return offset_gone(self._topic, partition, self._positions[partition])
        if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return right_missing(self._topic, TopicAuthorizationFailedError)
        return topic_unreadable(self._topic, error.name())

    def _bounds(self, partition: int) -> Bounds:
        """Ask again while the broker is about to know: leaders change, and topics are new."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        asked = TopicPartition(self._topic, partition)
        while True:
            remaining = max(0.0, deadline - time.monotonic())
            try:
                bounds = self._consumer.get_watermark_offsets(asked, timeout=remaining)
            except KafkaException as error:
                failure = error.args[0]
                if failure.code() not in _PASSING or not remaining:
                    raise offsets_unreadable(self._topic, failure.name()) from None
                time.sleep(_PAUSE_SECONDS)
                continue
            if bounds is None:
                raise offsets_unreadable(self._topic, "no answer")
            return Bounds(*bounds)


def _by_partition(messages: list[Message]) -> dict[int, list[Message]]:
    """Cut messages into runs of one partition, without looking at each in Python."""
    if not messages:
        return {}
    partitions = np.fromiter(map(_partition, messages), np.int64, len(messages))
    cuts = (np.flatnonzero(partitions[1:] != partitions[:-1]) + 1).tolist()
    found: dict[int, list[Message]] = {}
    for start, end in pairwise([0, *cuts, len(messages)]):
        found.setdefault(int(partitions[start]), []).extend(messages[start:end])
    return found


def _batch(partition: int, messages: list[Message], with_headers: bool) -> Batch:
    return Batch(
        partition,
        _offsets(messages),
        list(map(_milliseconds, map(Message.timestamp, messages))),
        list(map(Message.key, messages)),
        list(map(Message.value, messages)),
        list(map(_readable_headers, messages)) if with_headers else [_NO_HEADERS] * len(messages),
    )


def _readable_headers(message: Message) -> list[Header]:
    """Return headers; none where a name is no text, so that no producer stops the pipeline.

    The library then returns headers and an exception at once. `map` notices that; a plain call does
    not any more once the interpreter has specialised it.
    """
    try:
        [headers] = map(_headers, [message])
        return list(headers or ())
    except (SystemError, UnicodeDecodeError):
        return []


def _offsets(messages: list[Message]) -> Sequence[int]:
    """Return offsets, which rise; a range if none between the first and the last is left out."""
    first, last = _offset(messages[0]), _offset(messages[-1])
    if last - first == len(messages) - 1:
        return range(first, last + 1)
    return list(map(_offset, messages))


_partition: Any = Message.partition
_offset: Any = Message.offset
_headers: Any = Message.headers
"""Always there in a record, which their types do not say."""
