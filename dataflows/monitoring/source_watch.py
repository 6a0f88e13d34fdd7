"""Ask every few seconds where the source topic ends.

A thread and a connection of its own, so that the dataflow never waits for the answer, not even when
Kafka is away.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event, Thread

from fugu.dataflows.base.metrics import LAG, Metrics
from fugu.dataflows.kafka.client import Reader

LOOK_SECONDS = 3.0
_OPENING_SECONDS = 0.2


class SourceWatch:
    """Measure the lag, when Kafka last answered, and where records wait to be read."""

    def __init__(self, topic: str, metrics: Metrics, connect: Callable[[], Reader]) -> None:
        self.topic = topic
        self.answered_at = time.monotonic()
        self.waiting_since: dict[int, float] = {}
        """Partitions that hold unread records, and since when none of those was read."""
        self._metrics = metrics
        self._connect = connect
        self._seen: dict[int, int] = {}
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="source-watch", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; does not wait for an answer that is under way."""
        self._stopped.set()

    def compare(self, ends: Mapping[int, int]) -> None:
        """Compare where partitions end now with what was read of them."""
        now = self.answered_at = time.monotonic()
        for partition, end in ends.items():
            position = self._metrics.positions[partition]
            lag = max(0, end - position)
            self._metrics.put(LAG, lag, self.topic, partition)
            if lag == 0:
                self.waiting_since.pop(partition, None)
            elif position != self._seen.get(partition):
                self.waiting_since[partition] = now
            else:
                self.waiting_since.setdefault(partition, now)
            self._seen[partition] = position

    def _run(self) -> None:
        reader: Reader | None = None
        while not self._stopped.is_set():
            with suppress(Exception):  # whatever it is: health says that Kafka does not answer
                reader = reader or self._connect()
                self._look(reader)
            self._stopped.wait(LOOK_SECONDS if self._metrics.positions else _OPENING_SECONDS)
        if reader:
            reader.close()

    def _look(self, reader: Reader) -> None:
        partitions = sorted(self._metrics.positions)
        if partitions:
            bounds = reader.bounds(partitions)
            self.compare({partition: bound.end for partition, bound in bounds.items()})
