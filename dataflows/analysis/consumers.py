"""Read what a consumer that somebody else runs gets, up to where its partitions end now.

A consumer of kafka-python never ends by itself, and one of confluent-kafka is no iterable. Neither
package is imported here.
"""

import time
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Protocol

from fugu.dataflows.base.errors import CannotBeEstimated

_AT_ONCE = 10_000
_WAIT_MILLISECONDS = 500
_ASSIGNED_SECONDS = 30.0
_QUIET_SECONDS = 5.0
"""Positions of librdkafka stay before the marks of transactions, so an end may never be reached."""


class Consumer(Protocol):
    """Name what consumers of both libraries have in common."""

    def assignment(self) -> Any:
        """Return the partitions that it reads."""


def records_of(source: Any) -> Iterable[Any]:
    """Return the records of a consumer, or of any iterable."""
    if hasattr(source, "get_watermark_offsets"):
        return _arriving(_Librdkafka(source))
    if hasattr(source, "end_offsets"):
        return _arriving(_KafkaPython(source))
    if not isinstance(source, Iterable):
        raise CannotBeEstimated(
            f"{type(source).__name__} is nothing that can be read: give kafka://HOST:PORT/TOPIC, a "
            "Parquet file or a directory of them, a consumer, or an iterable of its records"
        )
    return source


class _KafkaPython:
    """Adapt a consumer of kafka-python."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    def poll(self) -> Collection[Any]:
        """Return the next records, or nothing after half a second."""
        found = self._consumer.poll(timeout_ms=_WAIT_MILLISECONDS, max_records=_AT_ONCE)
        return [record for records in found.values() for record in records]

    def ends(self) -> dict[Any, int]:
        """Return where each assigned partition ends now."""
        return dict(self._consumer.end_offsets(list(self._consumer.assignment())))

    def positions(self) -> dict[Any, int]:
        """Return where each assigned partition is read on."""
        return {one: self._consumer.position(one) for one in self._consumer.assignment()}


class _Librdkafka:
    """Adapt a consumer of confluent-kafka."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    def poll(self) -> Collection[Any]:
        """Return the next records, or nothing after half a second."""
        found = self._consumer.consume(_AT_ONCE, _WAIT_MILLISECONDS / 1000.0)
        failed = [one.error() for one in found if one.error() is not None]
        for error in failed:
            if error.name() != "_PARTITION_EOF":
                raise CannotBeEstimated(f"the consumer says: {error.str()}")
        return [one for one in found if one.error() is None]

    def ends(self) -> dict[Any, int]:
        """Return where each assigned partition ends now, of those that hold anything."""
        assigned = self._consumer.assignment()
        bounds = {
            (one.topic, one.partition): self._consumer.get_watermark_offsets(one)
            for one in assigned
        }
        return {place: end for place, (begin, end) in bounds.items() if end > begin}

    def positions(self) -> dict[Any, int]:
        """Return where each assigned partition is read on; below 0 where nothing was read."""
        assigned = self._consumer.position(self._consumer.assignment())
        return {(one.topic, one.partition): one.offset for one in assigned}


def _arriving(consumer: _KafkaPython | _Librdkafka) -> Iterator[Any]:
    ends: dict[Any, int] | None = None
    moved = time.monotonic()
    while True:
        found = consumer.poll()
        yield from found
        positions, now = consumer.positions(), time.monotonic()
        moved = now if found else moved
        if ends is None:
            if positions:
                ends = consumer.ends()
            elif now - moved > _ASSIGNED_SECONDS:
                raise CannotBeEstimated(
                    f"the consumer has no partition after {_ASSIGNED_SECONDS:.0f} s: subscribe it "
                    "to the sanitized topic, or assign partitions, before you give it"
                )
        if ends is not None:
            reached = all(positions.get(place, end) >= end for place, end in ends.items())
            if reached or now - moved > _QUIET_SECONDS:
                return
