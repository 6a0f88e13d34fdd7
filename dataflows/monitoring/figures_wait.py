"""Notice that figures wait: in open ticks, for partitions, or for policies."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from fugu.dataflows.base.metrics import Standing, Told
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.flows.policy_wait import PolicyWait
from fugu.dataflows.monitoring.notices import Kind, Notice, Unmoved, silences
from fugu.dataflows.stages.stateful_step import Gate

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


_UNMOVED_SECONDS = 30.0
_NAMED = 3
_1970 = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class FiguresWait:
    """Find the partitions of `topic` that hold up the merge of all."""

    topic: str
    standing: Standing
    ticks: Ticks
    _unmoved: Unmoved = field(default_factory=Unmoved, init=False)

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        told = self.standing.told
        behind = [] if told is None else told.behind
        if told is None or not behind:
            self._unmoved.forget("behind")
            return
        reached = told.last.get(behind[0])
        silent = silences(self._unmoved, self.topic, self.standing, now)
        quiet = self._nobody_sends(told, silent, now)
        if self._unmoved.seconds("behind", (tuple(behind), reached), now) <= _UNMOVED_SECONDS:
            return
        has = "has" if len(behind) == 1 else "have"
        so_far = "no tick yet" if reached is None else f"ticks up to {self._end(reached)} only"
        text = (
            f"figures wait for {_named(behind)} of {self.topic}, which {has} told {so_far} "
            f"(others: up to {self._end(max(told.last.values()))}). "
        )
        partition = behind[0] if len(behind) == 1 else None
        if quiet:
            text += (
                "No partition has news. Figures follow when records come to these, or heartbeats "
                f"({HEARTBEATS})"
            )
            yield Notice(Kind.NO_INPUT, self.topic, partition, text, still=False, quiet=True)
            return
        if (seconds := silent.get(behind[0])) is not None and partition is not None:
            text += f"It has had no records for {seconds:.0f} s. "
        text += f"Send heartbeats to every partition ({HEARTBEATS})"
        yield Notice(Kind.FIGURES_WAIT, self.topic, partition, text, still=True)

    def _nobody_sends(self, told: Told, silent: Mapping[int, float], now: float) -> bool:
        """Return whether no partition has news, for longer than a tick and its grace take.

        Partitions that other processes read are judged by the ticks that they tell. Heartbeats that
        were declared should always come.
        """
        patience = (self.ticks.width + self.ticks.grace) / 1000 + PATIENCE_SECONDS
        unmoved = self._unmoved.seconds("told", tuple(sorted(told.last.items())), now)
        is_quiet = min(unmoved, *silent.values()) > patience if silent else unmoved > patience
        return is_quiet and not self.ticks.time.heartbeats

    def _end(self, tick: int) -> str:
        """Return the end of a tick, which may lie beyond the years that dates have."""
        end = self.ticks.end(tick)
        try:
            return (_1970 + timedelta(milliseconds=end)).strftime("%Y-%m-%d %H:%M:%S")
        except OverflowError:
            return f"{end} ms since 1970"


@dataclass(frozen=True)
class UsersWait:
    """Find partitions of `topic` whose users wait to be asked by the collector of their reports."""

    topic: str
    gate: Gate

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        for partition, (_, since) in sorted(dict(self.gate.waiting).items()):
            if now - since > _UNMOVED_SECONDS:
                text = (
                    f"topic {self.topic}, partition {partition}: records have waited for "
                    f"{now - since:.0f} s, because nothing is asked of their users yet: all "
                    "partitions must have told the tick before, for which heartbeats do "
                    f"({HEARTBEATS}), and the process of shard 0, which collects, must run"
                )
                yield Notice(Kind.FIGURES_WAIT, self.topic, partition, text, still=False)


@dataclass(frozen=True)
class PoliciesBehind:
    """Find complete ticks that wait until the topic of policies is read."""

    wait: PolicyWait

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        problem = self.wait.problem()
        if problem is not None:
            yield Notice(Kind.POLICIES_BEHIND, self.wait.topic, None, problem, still=True)


def _named(partitions: list[int]) -> str:
    """Name some partitions, and count the others.

    >>> _named([3]), _named([3, 4]), _named([0, 3, 4, 7, 9])
    ('partition 3', 'partitions 3, 4', 'partitions 0, 3, 4 and 2 others')
    """
    names = ", ".join(map(str, partitions[:_NAMED]))
    more = f" and {len(partitions) - _NAMED} others" if len(partitions) > _NAMED else ""
    return f"partition{'s' * (len(partitions) > 1)} {names}{more}"
