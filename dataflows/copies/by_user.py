"""Say what is written into an internal topic by user of the records of a source, and where.

Nothing is judged here: a record without a user goes along, and what reads the internal topic
refuses it. The key of a record tells where it comes from.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fugu.dataflows.base.batches import Batch, Outgoing
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.flows.partitions import PartitionsPlan
from fugu.dataflows.kafka.client import identity_of
from fugu.dataflows.kafka.partitioner import partitions_of
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.published import origin_key
from fugu.operators.mechanism import Integers

_LONGEST_EVERY = 0.25
"""Nobody reads what is not committed, so releases would wait."""
_LARGEST_BYTES = 1_000_000


def group_by_user(pipeline: str) -> str:
    """Return the consumer group of those that write by user.

    >>> group_by_user("heart-zones")
    'fugu.heart-zones.by-user'
    """
    return f"{identity_of(pipeline)}.by-user"


@dataclass(frozen=True)
class ByUser:
    """Say what is written where: a topic, and so many partitions of another one."""

    pipeline: str
    source: str
    topic: str
    partitions: int
    codec: Codec
    max_batch: int
    every: float

    @classmethod
    def of(cls, plan: PartitionsPlan[Any], every: float) -> "ByUser":
        """Return what a plan needs that reads records by user."""
        stored = plan.fingerprint
        return cls(
            plan.name,
            stored.origin_topic,
            stored.source_topic,
            stored.partitions,
            plan.codec,
            plan.max_batch,
            min(every, _LONGEST_EVERY),
        )

    @property
    def group(self) -> str:
        """Return the consumer group of those that write."""
        return group_by_user(self.pipeline)

    def outgoing(self, batch: Batch) -> list[Outgoing]:
        """Return the records of a batch for each partition of their users.

        Those without a user go where the number of their partition leads.
        """
        homes = self._homes(batch)
        records = [self._carried(*record) for record in batch.records()]
        return [
            Outgoing(
                home,
                [origin_key(batch.partition, batch.offsets[place]) for place in own],
                OptionalByteColumn.of([records[place][0] for place in own]),  # type: ignore[arg-type]
                [records[place][1] for place in own],
                [max(batch.timestamps[place], 0) for place in own],
            )
            for home in np.unique(homes).tolist()
            for own in [np.flatnonzero(homes == home).tolist()]
        ]

    def _homes(self, batch: Batch) -> Integers:
        keys = self.codec.keys_of(batch)
        homes = np.full(len(keys), batch.partition % self.partitions, dtype=np.int64)
        known = [place for place, key in enumerate(keys) if key]
        if known:
            users = [key for key in keys if key]
            homes[known] = partitions_of(users, self.partitions, "murmur2")
        return homes

    def _carried(
        self,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes]],
    ) -> tuple[bytes | None, list[tuple[str, bytes]]]:
        """Return value and headers as they are read; what is too large to be read, in no more
        bytes than that takes."""
        told = [(name, it) for name, it in headers if it is not None]
        kept = told if self.codec.reads_headers else []
        own, most = len(value or b""), self.codec.max_value_bytes
        if own > most or own + sum(len(name) + len(it) for name, it in kept) > _LARGEST_BYTES:
            return bytes(most + 1), []
        return value, kept
