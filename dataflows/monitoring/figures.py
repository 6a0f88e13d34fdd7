"""Notice that figures wait: for partitions that have not told their ticks, or for policies."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from fugu.dataflows.base.standing import Standing
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.flows.policy_wait import PolicyWait
from fugu.dataflows.monitoring.notices import Kind, Notice, Unmoved

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
        silent = {part: self._silent(part, now) for part in behind}
        if self._unmoved.seconds("behind", (tuple(behind), reached), now) <= _UNMOVED_SECONDS:
            return
        has = "has" if len(behind) == 1 else "have"
        so_far = "no tick yet" if reached is None else f"ticks up to {self._end(reached)} only"
        text = (
            f"figures wait for {_named(behind)} of {self.topic}, which {has} told {so_far} "
            f"(others: up to {self._end(max(told.last.values()))}). "
        )
        if len(behind) == 1 and (seconds := silent[behind[0]]) is not None:
            text += f"It has had no records for {seconds:.0f} s. "
        text += "Send heartbeats to every partition (ticks.stream_time.heartbeats)"
        partition = behind[0] if len(behind) == 1 else None
        yield Notice(Kind.FIGURES_WAIT, self.topic, partition, text, still=True)

    def _silent(self, partition: int, now: float) -> float | None:
        """Return for how long nothing was read there; None if another process reads it."""
        position = self.standing.positions.get((self.topic, partition))
        return None if position is None else self._unmoved.seconds(partition, position, now)

    def _end(self, tick: int) -> str:
        """Return the end of a tick, which may lie beyond the years that dates have."""
        end = self.ticks.end(tick)
        try:
            return (_1970 + timedelta(milliseconds=end)).strftime("%Y-%m-%d %H:%M:%S")
        except OverflowError:
            return f"{end} ms since 1970"


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
