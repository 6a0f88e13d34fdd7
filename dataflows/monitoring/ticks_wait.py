"""Notice that values wait in open ticks, and nothing closes these."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fugu.dataflows.base.standing import Standing
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.monitoring.notices import Kind, Notice, Unmoved

_PATIENCE_SECONDS = 30.0


@dataclass
class TicksWait:
    """Find partitions that hold values while their stream time stands still, for longer than a tick
    and its grace take."""

    topic: str
    standing: Standing
    ticks: Ticks
    _unmoved: Unmoved = field(default_factory=Unmoved, init=False)

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        patience = (self.ticks.width + self.ticks.grace) / 1000 + _PATIENCE_SECONDS
        for partition, time in sorted(dict(self.standing.times).items()):
            position = self.standing.positions.get((self.topic, partition))
            silent = self._unmoved.seconds(("position", partition), position, now)
            stood = self._unmoved.seconds(("time", partition), time, now)
            if stood <= patience or partition not in self.standing.holding:
                continue
            if silent > patience:
                why = f"nobody has sent any for {silent:.0f} s. Send heartbeats"
            else:
                why = (
                    f"stream time has stood still for {stood:.0f} s, because too few people move "
                    "it. Send heartbeats"
                )
                if self.ticks.time.heartbeats:
                    why = f"there was no heartbeat for {stood:.0f} s. Send them"
            text = (
                f"topic {self.topic}, partition {partition}: values wait for later records; {why} "
                "(ticks.stream_time.heartbeats)"
            )
            yield Notice(Kind.TICKS_WAIT, self.topic, partition, text, still=True)
