"""Report, in the same words for every client, that Kafka does not do what a pipeline needs."""

import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import DeliveryFailed, KafkaUnavailable, StartRefused

SILENCE_SECONDS = 5
EACH_SECONDS = 1.0
"""The time for asking one partition, which may have no leader, while others wait."""
_GIVE_UP_SECONDS = 120
_SCAN_SECONDS = 60
_SCAN_RECORDS = 10_000

log = logging.getLogger(__name__)


def offset_gone(topic: str, partition: int, offset: int) -> StartRefused:
    """Report that an offset is gone: no client goes on elsewhere by itself."""
    return StartRefused(
        f"topic {topic}, partition {partition}: offset {offset} is no longer there (retention "
        "removed it, or the topic was truncated, as by an unclean election of a leader), so that "
        "records would be lost silently. Restore the records. The next start says what else can be "
        "done. If it says this again, other records have offsets of truncated ones, and were not "
        "read: write them once more behind the others, or do without them. Then set the position "
        f"of the consumer group to {offset} again (kafka-consumer-groups.sh --reset-offsets "
        "--to-offset). That goes on from there, with all budgets."
    )


class NotUnpacked(KafkaUnavailable):
    """Report a batch of records that is not unpacked, mostly because it is large, and where it is.

    Its records are at `offsets`, without those that were read before; none is later than
    `timestamp`.
    """

    def __init__(
        self, topic: str, partition: int, offsets: range, timestamp: int, most: int
    ) -> None:
        super().__init__(
            f"topic {topic}, partition {partition}: the batch with offsets {offsets[0]} to "
            f"{offsets[-1]} cannot be unpacked into {most:,} bytes. If that is meant, raise "
            "kafka.max_unpacked_bytes in the pipeline file"
        )
        self.partition, self.offsets, self.timestamp = partition, offsets, timestamp


def topic_unreadable(topic: str, reason: str) -> KafkaUnavailable:
    """Report that reading failed in a way that waiting does not cure."""
    return KafkaUnavailable(
        f"topic {topic} cannot be read ({reason}). "
        "Check that this user may read it, and the broker's log."
    )


def offsets_unreadable(topic: str, reason: str) -> KafkaUnavailable:
    """Report that nobody says where the topic starts and ends."""
    return KafkaUnavailable(
        f"topic {topic}: its offsets cannot be read ({reason}). "
        "Check that the broker is running and that this user may read the topic."
    )


def not_written(topic: str, partition: int, reason: str) -> DeliveryFailed:
    """Report that a record was refused before it was sent."""
    return DeliveryFailed(
        f"topic {topic}, partition {partition}: Kafka did not take a record ({reason}); the "
        "pipeline stops before its state advances. Start it again once the topic accepts writes."
    )


def not_acknowledged(reason: str) -> DeliveryFailed:
    """Report that a record was refused after it was sent."""
    return DeliveryFailed(
        f"Kafka did not take a record ({reason}); the pipeline stops before its state advances. "
        "Start it again once the sink topics accept writes."
    )


class Silence:
    """Measure how long Kafka acknowledges nothing: warn at first, raise an error in the end."""

    def __init__(self, longest: float | None = None) -> None:
        self._longest = _GIVE_UP_SECONDS if longest is None else longest
        self._begun = self._warned = time.monotonic()

    def goes_on(self) -> None:
        """Warn now and then; raise `DeliveryFailed` when it has lasted too long."""
        now = time.monotonic()
        lasted = now - self._begun
        if lasted > self._longest:
            raise DeliveryFailed(
                f"Kafka has acknowledged nothing for {lasted:.0f} s; the pipeline stops before its "
                "state advances. Start it again once the broker runs."
            )
        if now - self._warned >= SILENCE_SECONDS:
            self._warned = now
            log.warning("Kafka has acknowledged nothing for %.0f s; waiting", lasted)


def scan(
    topic: str,
    partition: int,
    end: int,
    poll: Callable[[int], list[Batch]],
    position: Callable[[], int],
) -> Iterator[Batch]:
    """Poll until the position reaches the end, and yield what is before the end.

    Gaps and control records only move the position.
    """
    deadline = time.monotonic() + _SCAN_SECONDS
    while position() < end:
        batches = poll(_SCAN_RECORDS)
        if batches:
            deadline = time.monotonic() + _SCAN_SECONDS
            yield from (part for batch in batches if (part := _before(batch, end)).offsets)
        elif time.monotonic() > deadline:
            raise KafkaUnavailable(
                f"topic {topic}, partition {partition}: nothing arrived for {_SCAN_SECONDS} s "
                f"while reading up to offset {end}. Is an open transaction of another producer in "
                "the way?"
            )
        else:
            time.sleep(0.002)


def _before(batch: Batch, end: int) -> Batch:
    """Return the records before an offset."""
    if batch.offsets[-1] < end:
        return batch
    count = bisect_left(batch.offsets, end)
    return replace(
        batch,
        offsets=batch.offsets[:count],
        timestamps=batch.timestamps[:count],
        keys=batch.keys[:count],
        values=batch.values[:count],
        headers=batch.headers[:count],
    )
