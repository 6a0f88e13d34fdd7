"""Judge whether the pipeline does its work: snapshots are made and nothing stands still."""

from collections.abc import Iterable
from dataclasses import dataclass

from fugu.dataflows.base.metrics import SNAPSHOT_AGE, Metrics
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.monitoring.notices import Kind, Notice
from fugu.dataflows.monitoring.watchman import Watchman

_SNAPSHOTS_MISSED = 10
_SNAPSHOT_SECONDS = 10.0
_STUCK_SECONDS = 300.0
"""Longer than any wait for Kafka, after which the process ends by itself."""

_SPARE = "the consumer group has no partition for this copy; it takes over when another one ends"


@dataclass(frozen=True)
class Snapshots:
    """Notice that none is made; `every` is the time between two of them, in seconds."""

    metrics: Metrics
    every: float

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        age = self.age
        if age is not None and age > self.longest_age:
            yield Notice(Kind.NO_SNAPSHOT, "", None, f"no snapshot for {age:.0f} s", still=True)

    @property
    def age(self) -> float | None:
        """Return the age of the oldest one that is the last of its partition."""
        return max(self.metrics.values(SNAPSHOT_AGE).values(), default=None)

    @property
    def longest_age(self) -> float:
        """Return the age from which on something is wrong."""
        return max(_SNAPSHOTS_MISSED * self.every, _SNAPSHOT_SECONDS)


@dataclass
class Health:
    """Judge one process by what its watchman noticed last."""

    snapshots: Snapshots
    watchman: Watchman
    stop: StopFlag | None = None
    compiling: bool = False

    def problem(self) -> str | None:
        """Return why no work is done now, in one line of coordinates and times; None if all is
        well."""
        begun = self.snapshots.age is not None or self._is_spare
        still = next((notice.text for notice in self.watchman.notices if notice.still), None)
        if self.stop is None or not begun:
            compiling = "starting: compiling for this machine, once"
            return still or (compiling if self.compiling else "starting")
        return "stopping" if self.stop.requested else still

    def degraded(self) -> list[str]:
        """Return what is to be acted on although work is done."""
        notices = self.watchman.notices
        return [notice.text for notice in notices if not notice.still and not notice.quiet]

    def waiting(self) -> list[str]:
        """Return what the pipeline waits for, although nothing is wrong."""
        quiet = [notice.text for notice in self.watchman.notices if notice.quiet]
        return [_SPARE, *quiet] if self._is_spare else quiet

    @property
    def _is_spare(self) -> bool:
        return self.snapshots.metrics.standing.spare

    def stuck(self) -> str | None:
        """Return why a restart would help; None if it would not."""
        age = self.snapshots.age
        if age is None or age <= self.snapshots.longest_age + _STUCK_SECONDS:
            return None
        return f"no snapshot for {age:.0f} s"
