"""Ask all sentinels every second, and judge whether the pipeline does its work."""

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Self

import orjson

from fugu.dataflows.base.metrics import NOTICE, SNAPSHOT_AGE, Metrics, Numbers
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.monitoring.notices import Kind, Notice, Place, Sentinel

_LOOK_SECONDS = 1.0
_SAY_SECONDS = 60.0

log = logging.getLogger(__name__)


@dataclass
class _Current:
    notice: Notice
    since: float
    said: float


class Watchman:
    """Keep the notices of one process; those that stand still come first.

    It asks all sentinels every second, also without `metrics` in the pipeline file. It reads
    clocks, and nothing here decides what is released.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._sentinels: Sequence[Sentinel] = ()
        self._current: dict[Place, _Current] = {}
        self._stopped = Event()
        self.notices: Sequence[Notice] = ()

    def start(self, sentinels: Sequence[Sentinel]) -> None:
        """Begin to look."""
        self._sentinels = sentinels
        Thread(target=self._run, name="watchman", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()

    def look(self, sentinels: Sequence[Sentinel], now: float) -> None:
        """Take in what sentinels notice now; say what is new, what lasts, and what is over."""
        seen = {notice.place: notice for one in sentinels for notice in one.notices(now)}
        for place, notice in seen.items():
            current = self._current.setdefault(place, _Current(notice, now, float("-inf")))
            current.notice = notice
            if now - current.said >= _SAY_SECONDS:
                current.said = float("inf") if notice.quiet else now
                level = logging.INFO if notice.quiet else logging.WARNING
                log.log(level, "%s", notice.text, extra=_coordinates(notice))
            self._show(current, now)
        for place in self._current.keys() - seen.keys():
            over = self._current.pop(place)
            notice, seconds = over.notice, now - over.since
            log.info("over after %.0f s: %s", seconds, notice.text, extra=_coordinates(notice))
            self._show(over, over.since)
        self.notices = sorted(seen.values(), key=lambda notice: not notice.still)

    def _show(self, current: _Current, now: float) -> None:
        kind, topic, partition = current.notice.place
        where = "" if partition is None else partition
        self._metrics.put(NOTICE, max(0.0, now - current.since), kind, topic, where)

    def _run(self) -> None:
        failed = False
        while not self._stopped.is_set():
            try:
                self.look(self._sentinels, time.monotonic())
                failed = False
            except Exception:  # whatever it is: others must still be noticed in the next second
                if not failed:
                    log.exception("notices cannot be looked for; this is an error in Fugu")
                failed = True
            self._stopped.wait(_LOOK_SECONDS)


def _coordinates(notice: Notice) -> dict[str, object]:
    where = {"topic": notice.topic, "partition": notice.partition}
    return {name: value for name, value in where.items() if value is not None}


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


@dataclass(frozen=True)
class Report:
    """Hold what a process reports: `partitions` once it runs; `problem`, `stuck`, `degraded` and
    `waiting` are its health."""

    partitions: list[int] = field(default_factory=list)
    numbers: Numbers = field(default_factory=dict)
    problem: str | None = "starting"
    stuck: str | None = None
    degraded: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    @property
    def line(self) -> bytes:
        """Return the line that is sent."""
        return orjson.dumps(self) + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Return the report of a line that was sent."""
        return cls(**orjson.loads(line))
