"""Define notices: what is not as it should be now, where, and what to do about it."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from fugu.dataflows.base.standing import Standing


class Kind(StrEnum):
    """Name what a notice is about, as the metric does."""

    NO_SNAPSHOT = "no_snapshot"
    KAFKA_AWAY = "kafka_away"
    REGISTRY_AWAY = "registry_away"
    GROUP_WAITS = "group_waits"
    RECORDS_WAIT = "records_wait"
    OPEN_TRANSACTION = "open_transaction"
    POLICIES_BEHIND = "policies_behind"
    FIGURES_WAIT = "figures_wait"
    TICKS_WAIT = "ticks_wait"
    PARTITION_IDLE = "partition_idle"
    NO_INPUT = "no_input"
    TIME_NOT_BEGUN = "time_not_begun"
    TIME_AHEAD = "time_ahead"
    TIME_UNIT = "time_unit"
    CLOCK_AHEAD = "clock_ahead"
    REFUSED = "refused"
    STREAMS_LIMIT = "streams_limit"
    BUDGETS_SPENT = "budgets_spent"
    BUDGETS_NEARLY_SPENT = "budgets_nearly_spent"
    TOPIC_REPLACED = "topic_replaced"
    FOREIGN_ENTRIES = "foreign_entries"
    PARTITIONS_ADDED = "partitions_added"
    TOPICS_UNSEEN = "topics_unseen"


Place = tuple[Kind, str, int | None]


@dataclass(frozen=True)
class Notice:
    """Say one thing about a topic or a partition; `still`: nothing is published because of it.

    `quiet`: nothing is wrong with it.
    """

    kind: Kind
    topic: str
    partition: int | None
    text: str
    still: bool
    quiet: bool = False

    @property
    def place(self) -> Place:
        """Return what makes it the same notice as one of before."""
        return self.kind, self.topic, self.partition


class Sentinel(Protocol):
    """Look at one thing that may go wrong."""

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said at this monotonic moment."""


@dataclass
class Unmoved:
    """Remember since when things have not changed."""

    _seen: dict[Hashable, tuple[Hashable, float]] = field(default_factory=dict)

    def seconds(self, what: Hashable, value: Hashable, now: float) -> float:
        """Return for how long this thing has had this value."""
        seen = self._seen.get(what)
        if seen is None or seen[0] != value:
            seen = self._seen[what] = value, now
        return now - seen[1]

    def forget(self, what: Hashable) -> None:
        """Begin anew with this thing."""
        self._seen.pop(what, None)


def silences(unmoved: Unmoved, topic: str, standing: Standing, now: float) -> dict[int, float]:
    """Return for how long nothing was read of each partition of a topic that this process reads."""
    return {
        partition: unmoved.seconds(("position", partition), position, now)
        for (of, partition), position in dict(standing.positions).items()
        if of == topic
    }
