"""Put raw records of a demonstration in the partitions that a producer would send them to."""

from collections.abc import Iterable, Iterator

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.kafka import partitioner
from fugu.dataflows.offline.demo.embedded_broker import PARTITIONS

_WRITE_SIZE = 1_000

RawRecord = tuple[bytes, bytes, int]
"""Key, value and timestamp in milliseconds."""


def partition_of(user: bytes) -> int:
    """Return the partition that a demonstration's producer sends a user to."""
    return partitioner.partition_of(user, PARTITIONS)


def partitioned(records: Iterable[RawRecord]) -> Iterator[Outgoing]:
    """Yield batches for single partitions; records of one user stay in their order."""
    queues: list[list[RawRecord]] = [[] for _ in range(PARTITIONS)]
    for record in records:
        partition = partition_of(record[0])
        queues[partition].append(record)
        if len(queues[partition]) == _WRITE_SIZE:
            yield _outgoing(partition, queues[partition])
            queues[partition] = []
    for partition, queue in enumerate(queues):
        yield _outgoing(partition, queue)


def _outgoing(partition: int, queue: list[RawRecord]) -> Outgoing:
    return Outgoing(
        partition,
        [user for user, _, _ in queue],
        [value for _, value, _ in queue],
        [[] for _ in queue],
        [timestamp for _, _, timestamp in queue],
    )
