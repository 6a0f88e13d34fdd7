"""Notice that stream time has not begun, or is ahead of this machine's clock."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from fugu.dataflows.base.advice import ADVICE
from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.standing import Standing
from fugu.dataflows.base.stream_time import StreamTime
from fugu.dataflows.monitoring.notices import Kind, Notice, Unmoved

_NOT_BEGUN_SECONDS = 30.0


@dataclass
class StreamTimes:
    """Compare stream time with the clock: it may be `ahead` by so much."""

    topic: str
    standing: Standing
    ahead: timedelta
    moved_by: StreamTime
    clock: Callable[[], float] = time.time
    _refusing: Unmoved = field(default_factory=Unmoved, init=False)

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        for partition, stream_time in sorted(dict(self.standing.times).items()):
            ahead = stream_time / 1000 - self.clock()
            if ahead > self.ahead.total_seconds():
                text = (
                    f"topic {self.topic}, partition {partition}: stream time is "
                    f"{_in_words(ahead)} ahead of this machine's clock: records of now are late "
                    f"until clocks have come there. {self._advice}"
                )
                yield Notice(Kind.TIME_AHEAD, self.topic, partition, text, still=False)
        refusing = set(self.standing.not_begun)
        for partition in sorted(refusing):
            if self._refusing.seconds(partition, True, now) > _NOT_BEGUN_SECONDS:
                text = (
                    f"topic {self.topic}, partition {partition}: records are refused because "
                    f"stream time has not begun: {ADVICE[Reason.TIME_NOT_BEGUN]}"
                )
                yield Notice(Kind.TIME_NOT_BEGUN, self.topic, partition, text, still=True)
        for partition in self.standing.times:
            self._refusing.forget(partition)

    @property
    def _advice(self) -> str:
        people = self.moved_by.distinct_keys
        if self.moved_by.heartbeats:
            return (
                "Look at the clock of whoever sends heartbeats (ticks.stream_time.heartbeats), and "
                "at the unit of their timestamps"
            )
        look = "Look at the clocks of producers, and at the unit of timestamps"
        if people == 1:
            return (
                f"One record does that (ticks.stream_time.distinct_keys: 1). {look}; then stop, "
                "write 3 or more, or declare heartbeats, and start"
            )
        return f"{people} people did that together (ticks.stream_time.distinct_keys). {look}"


def _in_words(seconds: float) -> str:
    """Return a length of time, in the largest unit of which there are several.

    >>> _in_words(365 * 86_400), _in_words(5_400), _in_words(90_000)
    ('365 days', '90 minutes', '25 hours')
    """
    for unit, length in (("days", 86_400), ("hours", 3_600)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds / 60:,.0f} minutes"
