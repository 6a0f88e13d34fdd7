"""Read with librdkafka: what a poll returns is columns, without an object for each record."""

import ctypes
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import finalize

from confluent_kafka import KafkaError
from kafka.errors import TopicAuthorizationFailedError

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import FuguError, KafkaUnavailable
from fugu.dataflows.kafka import failures
from fugu.dataflows.kafka.client import Bounds, Reader
from fugu.dataflows.kafka.failures import (
    NotUnpacked,
    offset_gone,
    offsets_unreadable,
    scan,
    topic_unreadable,
)
from fugu.dataflows.kafka.kafka_python_refusals import right_missing
from fugu.dataflows.kafka.native.library import (
    CONSUMER,
    ERROR_SIZE,
    EVENT_DELIVERY_REPORTS,
    EVENT_ERROR,
    PRODUCER,
    LoginTroubles,
    TopicPartition,
    TopicPartitions,
    library,
    name_of,
)
from fugu.dataflows.kafka.native.messages import Event, Messages
from fugu.dataflows.kafka.native.settings import Settings


def consumer_of(settings: Settings) -> int:
    """Return a consumer; its errors are events of its main queue."""
    return _made(CONSUMER, settings, EVENT_ERROR)


def producer_of(settings: Settings) -> int:
    """Return a producer; its delivery reports and errors are events of its main queue."""
    return _made(PRODUCER, settings, EVENT_DELIVERY_REPORTS | EVENT_ERROR)


def _made(kind: int, settings: Settings, events: int) -> int:
    calls, text = library(), ctypes.create_string_buffer(ERROR_SIZE)
    configuration = calls.rd_kafka_conf_new()
    # What librdkafka says may repeat what it was given; what a person should know is an error.
    calls.rd_kafka_conf_set_log_cb(configuration, None)
    calls.rd_kafka_conf_set_events(configuration, events)
    for name, value in settings.items():
        written = _written(value)
        if calls.rd_kafka_conf_set(configuration, name.encode(), written, text, len(text)):
            calls.rd_kafka_conf_destroy(configuration)
            raise KafkaUnavailable(
                f"librdkafka does not take the setting {name}. If kafka.settings chooses it, write "
                "another value there. Otherwise install the version of confluent-kafka that "
                "fugu-streams[fast] asks for, or write kafka.client: kafka-python"
            )
    made = calls.rd_kafka_new(kind, configuration, text, len(text))
    if not made:
        reason = name_of(calls.rd_kafka_last_error())
        calls.rd_kafka_conf_destroy(configuration)
        raise KafkaUnavailable(
            f"librdkafka cannot be started with these settings ({reason}). Check kafka.settings "
            "and kafka.security in the pipeline file, and that this user may read the files that "
            "it names."
        )
    return int(made)


def _written(value: Any) -> bytes:
    return (str(value).lower() if isinstance(value, bool) else str(value)).encode()


class Consumer:
    """Hold a consumer until it is closed, or nobody knows it any more.

    Its calls return librdkafka's number of an error, 0 where there is none.
    """

    def __init__(self, settings: Settings) -> None:
        self._handle = consumer_of(settings)
        self.records = int(library().rd_kafka_queue_get_consumer(self._handle))
        self.errors = int(library().rd_kafka_queue_get_main(self._handle))
        queues = self.records, self.errors
        self.close = finalize(self, _end, self._handle, queues, os.getpid())
        self.close.atexit = False  # nothing is lost, and a process ends without waiting

    def assign(
        self, topic: str, offsets: Mapping[int, int], epochs: Mapping[int, int] | None = None
    ) -> int:
        """Read these partitions from these offsets; see `Reader.assign` for the epochs."""
        calls, partitions = library(), partition_list({topic: offsets}, epochs)
        error = calls.rd_kafka_assign(self._handle, partitions)
        calls.rd_kafka_topic_partition_list_destroy(partitions)
        return int(error)

    def epoch(self, topic: str, partition: int) -> int | None:
        """Return the leader epoch of the last record that came from a partition."""
        calls, partitions = library(), partition_list({topic: {partition: 0}})
        try:
            if calls.rd_kafka_position(self._handle, partitions):
                return None
            found = TopicPartitions.from_address(partitions).elements
            epoch = calls.rd_kafka_topic_partition_get_leader_epoch(found)
            return None if epoch < 0 else int(epoch)
        finally:
            calls.rd_kafka_topic_partition_list_destroy(partitions)

    def bounds(self, topic: str, partition: int, seconds: float) -> Bounds | int:
        """Return where a partition starts and ends, or the number of an error."""
        start, end = ctypes.c_int64(), ctypes.c_int64()
        answers = ctypes.addressof(start), ctypes.addressof(end)
        error = library().rd_kafka_query_watermark_offsets(
            self._handle, topic.encode(), partition, *answers, int(seconds * 1000)
        )
        return int(error) if error else Bounds(start.value, end.value)


def partition_list(
    offsets: Mapping[str, Mapping[int, int]], epochs: Mapping[int, int] | None = None
) -> int:
    """Return a new list of librdkafka's, which the caller destroys, of offsets by topic and
    partition; with them the leader epochs of the records before, where they are known."""
    calls = library()
    partitions = calls.rd_kafka_topic_partition_list_new(sum(map(len, offsets.values())))
    for topic, own in offsets.items():
        for partition, offset in own.items():
            place = calls.rd_kafka_topic_partition_list_add(partitions, topic.encode(), partition)
            TopicPartition.from_address(place).offset = offset
            if epochs is not None and partition in epochs:
                calls.rd_kafka_topic_partition_set_leader_epoch(place, epochs[partition])
    return int(partitions)


def _end(handle: int, queues: tuple[int, ...], process: int) -> None:
    if os.getpid() != process:
        return  # after a fork, librdkafka's threads are not there
    calls = library()
    calls.rd_kafka_consumer_close(handle)
    for queue in queues:
        calls.rd_kafka_queue_destroy(queue)
    calls.rd_kafka_destroy(handle)


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
    KafkaError._UNKNOWN_PARTITION,  # to librdkafka, while it reaches no broker
}


PackedAt = Callable[[int, int], NotUnpacked | int]
"""Look, by partition and offset, at a batch that librdkafka has not unpacked; where its transaction
was aborted, tell where it ends."""


class NativeReader(Reader):
    """Read through a consumer with manual assignment."""

    def __init__(
        self,
        topic: str,
        settings: Settings,
        troubles: LoginTroubles,
        packed_at: PackedAt,
        *,
        headers: bool,
    ) -> None:
        self._topic = topic
        self._consumer = Consumer(settings)
        self._messages = Messages(self._consumer.records)
        self._troubles = troubles
        self._headers = headers
        self._positions: dict[int, int] = {}
        self._packed_at = packed_at
        self._not_unpacked = deque[Event]()

    def assign(self, offsets: Mapping[int, int], epochs: Mapping[int, int] | None = None) -> None:
        self._check_open()
        self._positions = dict(offsets)
        self._messages.drop()
        self._not_unpacked.clear()
        if error := self._consumer.assign(self._topic, offsets, epochs):
            raise topic_unreadable(self._topic, name_of(error))

    def poll(self, max_records: int) -> list[Batch]:
        return self._poll(max_records, with_headers=self._headers)

    def pass_over(self, partition: int, offset: int) -> None:
        self.assign({**self._positions, partition: offset})

    def bounds(self, partitions: list[int]) -> dict[int, Bounds]:
        self._check_open()
        return {partition: self._bounds(partition) for partition in partitions}

    def bounds_now(self, partitions: Sequence[int], seconds: float) -> dict[int, Bounds | str]:
        self._check_open()
        told, until = dict[int, Bounds | str](), time.monotonic() + seconds
        for partition in partitions:
            self._troubles.listen(self._consumer.errors)
            remaining = until - time.monotonic()
            if remaining <= 0:
                break
            found = self._consumer.bounds(
                self._topic, partition, min(remaining, failures.EACH_SECONDS)
            )
            told[partition] = found if isinstance(found, Bounds) else name_of(found)
        return told

    def position(self, partition: int) -> int | None:
        return self._positions.get(partition)

    def epoch(self, partition: int) -> int | None:
        return self._consumer.epoch(self._topic, partition)

    def read_range(self, partition: int, start: int, end: int) -> Iterator[Batch]:
        self.assign({partition: start})
        poll = partial(self._poll, with_headers=True)
        return scan(self._topic, partition, end, poll, lambda: self._positions[partition])

    def close(self) -> None:
        self._messages.drop()
        self._consumer.close()

    def _poll(self, max_records: int, *, with_headers: bool) -> list[Batch]:
        self._check_open()
        self._troubles.listen(self._consumer.errors)
        try:
            batches, events = self._messages.take(max_records, with_headers=with_headers)
        except OSError as error:
            raise topic_unreadable(self._topic, str(error)) from None
        ends = [event for event in events if self._is_end(event)]
        for batch in batches:
            self._positions[batch.partition] = batch.offsets[-1] + 1
        for event in ends:
            known = self._positions[event.partition]
            self._positions[event.partition] = max(known, event.offset)
        if not batches and self._not_unpacked:
            self._look_at(self._not_unpacked.popleft())
        return batches

    def _look_at(self, event: Event) -> None:
        """Raise `NotUnpacked`, unless that has been passed over, or was aborted."""
        partition, position = event.partition, self._positions[event.partition]
        found = self._packed_at(partition, max(position, event.offset))
        if isinstance(found, NotUnpacked):
            raise found
        if found > position:
            self.pass_over(partition, found)

    def _is_end(self, event: Event) -> bool:
        """Return whether what came in place of a record is the end of a partition."""
        if not event.has_topic:
            return False  # of the group, which is not used
        if event.error == KafkaError._BAD_COMPRESSION:
            self._not_unpacked.append(event)
        elif event.error != KafkaError._PARTITION_EOF:
            raise self._failure(event)
        return event.error == KafkaError._PARTITION_EOF

    def _failure(self, event: Event) -> FuguError:
        if event.error == KafkaError._AUTO_OFFSET_RESET:
            return offset_gone(self._topic, event.partition, self._positions[event.partition])
        if event.error == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return right_missing(self._topic, TopicAuthorizationFailedError)
        return topic_unreadable(self._topic, name_of(event.error))

    def _bounds(self, partition: int) -> Bounds:
        """Ask again while the broker is about to know: leaders change, and topics are new."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            self._troubles.listen(self._consumer.errors)
            remaining = max(0.0, deadline - time.monotonic())
            found = self._consumer.bounds(self._topic, partition, remaining)
            if isinstance(found, Bounds):
                return found
            if found not in _PASSING or not remaining:
                raise offsets_unreadable(self._topic, name_of(found))
            time.sleep(_PAUSE_SECONDS)

    def _check_open(self) -> None:
        if not self._consumer.close.alive:
            raise ValueError(f"the reader of topic {self._topic} is closed")
