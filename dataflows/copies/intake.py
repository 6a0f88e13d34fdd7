"""Read the source for the partitions that a copy owns, behind what is in their tables.

A partition whose next batch cannot be taken yet keeps it, and waits alone.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeVar

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.base.metrics import RECORDS_IN, Metrics
from fugu.dataflows.kafka.client import Reader
from fugu.dataflows.kafka.source import ReleaseTimes, say_what_is_unread

Polled = tuple[float, Batch]
"""A batch, and the moment of the poll that brought it."""


class Place(Protocol):
    """Hold how far a partition is read; `touched` is to be committed.

    `epoch` is the leader epoch of the record before the position, where it is known.
    """

    partition: int
    position: int
    touched: bool
    epoch: int | None


Own = TypeVar("Own", bound=Place)


class Intake:
    """Poll at most so many records of a topic, and hold batches that are not ready."""

    def __init__(
        self,
        topic: str,
        reader: Reader,
        most: int,
        is_ready: Callable[[Batch], bool],
        metrics: Metrics,
        times: ReleaseTimes | None = None,
    ) -> None:
        self._topic, self._reader, self._most = topic, reader, most
        self._is_ready, self._metrics, self._times = is_ready, metrics, times
        self._held = list[Polled]()

    def assign(self, owned: Iterable[Place]) -> None:
        """Read these partitions, each from its position on; what waits is read again."""
        self._held = []
        places = [*owned]
        self._reader.assign({one.partition: one.position for one in places}, epochs_of(places))

    def next(self, owned: Mapping[int, Own]) -> list[tuple[Own, Batch]]:
        """Return what has arrived and can be taken now.

        Partitions go on beside one that waits, until what it holds fills everything.
        """
        room = self._most - sum(len(batch.offsets) for _, batch in self._held)
        if room > 0:
            moment = time.monotonic()
            self._held += [(moment, batch) for batch in self._reader.poll(room)]
        ready = self._ready()
        for moment, batch in ready:
            self._require_following(owned.get(batch.partition), batch)
            self._metrics.add(RECORDS_IN, len(batch.offsets), self._topic, batch.partition)
            if self._times is not None:
                self._times.read(batch.partition, moment, len(batch.offsets))
        return [(owned[batch.partition], batch) for _, batch in ready]

    def taken_in(self, owned: Place, batch: Batch) -> None:
        """Note that the table has a batch, so that reading goes on behind it."""
        if len(batch.offsets):
            owned.position = int(batch.offsets[-1]) + 1
            owned.epoch = self._reader.epoch(owned.partition)
        owned.touched = True

    def pass_marks(self, owned: Place) -> None:
        """Move on behind marks of transactions, which are no records, unless a batch waits.

        That is committed, too: once retention has removed them, they would seem to be lost records.
        """
        behind = self._reader.position(owned.partition)
        waits = any(batch.partition == owned.partition for _, batch in self._held)
        if behind is not None and behind > owned.position and not waits:
            owned.position, owned.touched, owned.epoch = behind, True, None

    def say_what_is_unread(self, owned: Place) -> None:
        """Warn of records of a partition that are left, where nothing more is read."""
        bounds = self._reader.bounds([owned.partition])[owned.partition]
        say_what_is_unread(self._topic, owned.partition, owned.position, bounds)

    def close(self) -> None:
        """Read nothing any more."""
        self._reader.close()

    def _ready(self) -> list[Polled]:
        """Take out what can be read now; a partition waits from its first batch on that cannot."""
        ready, held, waiting = list[Polled](), list[Polled](), set[int]()
        for moment, batch in self._held:
            if batch.partition in waiting or not self._is_ready(batch):
                waiting.add(batch.partition)
                held.append((moment, batch))
            else:
                ready.append((moment, batch))
        self._held = held
        return ready

    def _require_following(self, owned: Place | None, batch: Batch) -> None:
        """Raise `FuguError` for records that are in a table already: they would be paid twice."""
        if owned is None or batch.offsets[0] < owned.position:
            raise FuguError(
                f"topic {self._topic}, partition {batch.partition}: Kafka returned records from "
                f"offset {batch.offsets[0]} on, which were not asked for"
            )


def epochs_of(places: Iterable[Place]) -> dict[int, int]:
    """Return leader epochs by partition, where they are known."""
    return {one.partition: one.epoch for one in places if one.epoch is not None}
