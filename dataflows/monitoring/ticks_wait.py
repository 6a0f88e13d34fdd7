"""Notice that values wait in open ticks, and nothing closes these."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fugu.dataflows.base.standing import Standing
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.monitoring.notices import Kind, Notice, Unmoved, silences

PATIENCE_SECONDS = 30.0
HEARTBEATS = "ticks.stream_time.heartbeats"


@dataclass
class TicksWait:
    """Find partitions that hold values while their stream time stands still, for longer than a tick
    and its grace take.

    Nothing is wrong where nobody sends to any partition, unless heartbeats were declared.
    """

    topic: str
    standing: Standing
    ticks: Ticks
    _unmoved: Unmoved = field(default_factory=Unmoved, init=False)

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        patience = (self.ticks.width + self.ticks.grace) / 1000 + PATIENCE_SECONDS
        silent = silences(self._unmoved, self.topic, self.standing, now)
        for partition, time in sorted(dict(self.standing.times).items()):
            stood = self._unmoved.seconds(("time", partition), time, now)
            if stood <= patience or partition not in self.standing.holding:
                continue
            where = f"topic {self.topic}, partition {partition}: values wait for later records; "
            silence = silent.get(partition, stood)
            if silence <= patience or self.ticks.time.heartbeats:
                text = where + self._missing(stood, silence, patience)
                yield Notice(Kind.TICKS_WAIT, self.topic, partition, text, still=True)
            elif min(silent.values(), default=stood) <= patience:
                text = (
                    f"{where}nobody has sent any there for {silence:.0f} s, while other partitions "
                    f"have news. Send heartbeats to every partition ({HEARTBEATS})"
                )
                yield Notice(Kind.PARTITION_IDLE, self.topic, partition, text, still=False)
            else:
                text = (
                    f"{where}no partition has had any for {silence:.0f} s. They are published when "
                    f"records come; heartbeats would close ticks when nobody sends ({HEARTBEATS})"
                )
                yield Notice(Kind.NO_INPUT, self.topic, partition, text, still=False, quiet=True)

    def _missing(self, stood: float, silence: float, patience: float) -> str:
        """Say why stream time does not move, and what to do."""
        if silence > patience:
            return f"nobody has sent any for {silence:.0f} s. Send heartbeats ({HEARTBEATS})"
        if self.ticks.time.heartbeats:
            return f"there was no heartbeat for {stood:.0f} s. Send them ({HEARTBEATS})"
        return (
            f"stream time has stood still for {stood:.0f} s, because too few people move it. Send "
            f"heartbeats ({HEARTBEATS})"
        )
