"""Ask all sentinels every second, and say what they notice: in the log, in metrics, in health.

This happens also without `metrics` in the pipeline file. Clocks are read here, and nothing here
decides what is released.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event, Thread

from fugu.dataflows.base.metrics import NOTICE, Metrics
from fugu.dataflows.monitoring.notices import Notice, Place, Sentinel

_LOOK_SECONDS = 1.0
_SAY_SECONDS = 60.0

log = logging.getLogger(__name__)


@dataclass
class _Current:
    notice: Notice
    since: float
    said: float


class Watchman:
    """Keep the notices of one process; those that stand still come first."""

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
