"""Measure how long records take, from the poll that brought them until their releases are safe.

That is when Kafka has acknowledged the releases of an epoch and its state is durable. Only clocks
of this process count: how long a mechanism holds a value back in event time never shows.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fugu.dataflows.base.metrics import RELEASE_SECONDS, Metrics

Polled = list[tuple[float, int]]
"""Moments of polls, and numbers of records."""


@dataclass
class ReleaseTimes:
    """Hold when records of each partition were polled, of this epoch and of the one that ends.

    An epoch in which nothing came to the sink is forgotten.
    """

    topic: str
    metrics: Metrics
    clock: Callable[[], float] = time.monotonic
    _now: dict[int, Polled] = field(default_factory=dict, init=False)
    _ending: dict[int, Polled] = field(default_factory=dict, init=False)

    def read(self, partition: int, polled_at: float, records: int) -> None:
        """Note records that are handed on."""
        self._now.setdefault(partition, []).append((polled_at, records))

    def end_epoch(self, partition: int) -> None:
        """Note that what was read until now belongs to the epoch that ends."""
        self._ending[partition] = self._now.pop(partition, [])

    def acknowledged(self, partition: int) -> None:
        """Count what was read in the epoch that ends."""
        moment = self.clock()
        for polled_at, records in self._ending.pop(partition, []):
            seconds = moment - polled_at
            self.metrics.observe(RELEASE_SECONDS, seconds, records, self.topic, partition)
