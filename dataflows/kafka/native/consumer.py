"""Hold a consumer of librdkafka: which partitions it reads, and what it says besides."""

import ctypes
import os
from collections.abc import Mapping
from weakref import finalize

from fugu.dataflows.kafka.client import Bounds
from fugu.dataflows.kafka.native.handle import consumer_of
from fugu.dataflows.kafka.native.library import library
from fugu.dataflows.kafka.native.settings import Settings
from fugu.dataflows.kafka.native.structures import TopicPartition, TopicPartitions


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
