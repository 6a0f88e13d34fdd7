"""Notice what is not as it should be now: where, and what to do about it."""

import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from fugu.dataflows.base.batches import ADVICE, Reason
from fugu.dataflows.base.metrics import (
    DEAD_LETTERS,
    FOREIGN_WRITES,
    RECORDS_IN,
    STREAMS,
    STREAMS_BY_BUDGET,
    STREAMS_LIMIT,
    Metrics,
    Standing,
)
from fugu.dataflows.base.ticks import StreamTime
from fugu.dataflows.records.json_fields import Format, advice
from fugu.dataflows.records.registered import Schemas
from fugu.dataflows.stages.stage import NEARLY_ALL
from fugu.operators.budget import WhenExhausted


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


_FEWEST_STREAMS = 100
_NEARLY = ("9", "10")
_INSTEAD: Mapping[WhenExhausted, str] = {
    "repeat": "their last release is repeated",
    "constant": "a constant is released for them",
    "suppress": "nothing is released for them",
    "stop": "the next of their records stops the pipeline",
}


@dataclass(frozen=True)
class Budgets:
    """Judge which share of all streams of this process has spent its budget, if there are 100.

    Nothing is said where numbers about streams are not shown.
    """

    topic: str
    metrics: Metrics
    share: float
    when_exhausted: WhenExhausted

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        counts = Counter[str]()
        for (_, _, spent), count in self.metrics.values(STREAMS_BY_BUDGET).items():
            counts[spent] += int(count)
        streams, ended = counts.total(), counts["exhausted"]
        nearly = sum(counts[spent] for spent in _NEARLY)
        if streams < _FEWEST_STREAMS:
            return
        instead = f"{_INSTEAD[self.when_exhausted]} (budget.when_exhausted)"
        if ended > self.share * streams:
            text = (
                f"topic {self.topic}: {ended:,} of {streams:,} streams have no budget left: "
                f"{instead}"
            )
            yield Notice(Kind.BUDGETS_SPENT, self.topic, None, text, still=False)
        elif ended + nearly > self.share * streams:
            text = (
                f"topic {self.topic}: {ended + nearly:,} of {streams:,} streams have spent nine "
                f"tenths of their budget or more; when nothing is left, {instead}"
            )
            yield Notice(Kind.BUDGETS_NEARLY_SPENT, self.topic, None, text, still=False)


_REMEMBERED_SECONDS = 300.0


@dataclass
class ClocksAhead:
    """Say for five minutes that such a record came; `name` is that of the field with its time."""

    topic: str
    standing: Standing
    name: str
    limit: StreamTime
    _unmoved: Unmoved = field(default_factory=Unmoved, init=False)

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        for partition, count in sorted(dict(self.standing.ahead_of_kafka).items()):
            if self._unmoved.seconds(partition, count, now) >= _REMEMBERED_SECONDS:
                continue
            text = (
                f"topic {self.topic}, partition {partition}: {count:,} records since the start had "
                f"times more than {self.limit.most_ahead / 1000:,g} s after those in Kafka "
                "(ticks.stream_time.max_ahead), and were refused. They moved no time. Dead "
                f"letters too_far_ahead that name {self.name} say which ones: correct the clock "
                "that wrote it"
            )
            yield Notice(Kind.CLOCK_AHEAD, self.topic, partition, text, still=False)


_FOR_SECONDS = 600.0


@dataclass(frozen=True)
class ForeignEntries:
    """Look whether the merge has passed records of others over in the last ten minutes."""

    log: str
    metrics: Metrics
    _unmoved: Unmoved = field(default_factory=Unmoved)

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        count = self.metrics.values(FOREIGN_WRITES).get((self.log, "0"), 0)
        if count and self._unmoved.seconds("count", count, now) < _FOR_SECONDS:
            text = (
                f"topic {self.log} (sink.partials): something else writes to it, {count:,.0f} "
                "records so far. They do not count. If it is another pipeline, give it a topic of "
                "its own; let the user of this pipeline alone write there"
            )
            yield Notice(Kind.FOREIGN_ENTRIES, self.log, 0, text, still=False)


_OLDEST_SECONDS = 600.0
_EXPECTED = {Reason.ROW_DELETED}
"""Reasons for which nobody has to do anything."""


@dataclass(frozen=True)
class _Sample:
    moment: float
    read: float
    refused: Counter[str]


@dataclass
class RefusedShare:
    """Judge the newest stretch that holds `over` records, if it began in the last ten minutes."""

    topic: str
    metrics: Metrics
    share: float
    over: int
    _samples: deque[_Sample] = field(default_factory=deque, init=False)

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        samples, sample = self._samples, self._sample(now)
        if not samples:
            samples.append(_Sample(now, 0, Counter()))
        if (samples[-1].read, samples[-1].refused) == (sample.read, sample.refused):
            samples.pop()
        samples.append(sample)
        while now - samples[0].moment > _OLDEST_SECONDS:
            samples.popleft()
        enough = (one for one in reversed(samples) if sample.read - one.read >= self.over)
        before = next(enough, None)
        if before is None:
            return
        read, refused = sample.read - before.read, sample.refused - before.refused
        if refused.total() > self.share * read:
            [(reason, _)] = refused.most_common(1)
            text = (
                f"topic {self.topic}: {refused.total():,.0f} of the last {read:,.0f} records were "
                f"refused, most as {reason}: {ADVICE[Reason(reason)]}"
            )
            yield Notice(Kind.REFUSED, self.topic, None, text, still=False)

    def _sample(self, now: float) -> _Sample:
        refused = Counter[str]()
        for (topic, _, reason), count in self.metrics.values(DEAD_LETTERS).items():
            if topic == self.topic and reason not in _EXPECTED:
                refused[reason] += int(count)
        read = self.metrics.values(RECORDS_IN).items()
        return _Sample(now, sum(n for (topic, _), n in read if topic == self.topic), refused)


@dataclass(frozen=True)
class RegistryAway:
    """Look whether a registry has told schemas the last time that it was asked."""

    topic: str
    schemas: Schemas

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        since = self.schemas.away_since
        if since is not None:
            text = (
                f"topic {self.topic}: records wait for a schema, and the registry at "
                f"{self.schemas.url} has told none for {now - since:.0f} s "
                f"({self.schemas.away_because})"
            )
            yield Notice(Kind.REGISTRY_AWAY, self.topic, None, text, still=True)


@dataclass(frozen=True)
class StreamsLimit:
    """Compare the keys of each partition with its share of `state.max_keys`."""

    topic: str
    metrics: Metrics

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said; where numbers about streams are not shown, nothing
        or, of figures over all people, that rows run out, and no number."""
        limits = self.metrics.values(STREAMS_LIMIT)
        for place, streams in sorted(self.metrics.values(STREAMS).items()):
            limit = limits.get(place)
            if limit is not None and streams >= NEARLY_ALL * limit:
                topic, partition = place
                text = (
                    f"topic {topic}, partition {partition}: {streams:,.0f} of {limit:,.0f} keys "
                    "have a row; when there are as many, records of new keys are refused as "
                    "too_many_keys. Raise state.max_keys"
                )
                yield Notice(Kind.STREAMS_LIMIT, topic, int(partition), text, still=False)
        for crowded in sorted(self.metrics.standing.crowded):
            text = (
                f"topic {self.topic}, partition {crowded}: more than nine tenths of the rows are "
                "of people who count now. When all are, nobody new is counted (too_many_keys) "
                "until ticks close, or the period of a cap is over: for so long, producers who "
                "make up keys can shut everybody else out. Raise state.max_keys, or see who "
                "writes to the topic"
            )
            yield Notice(Kind.STREAMS_LIMIT, self.topic, crowded, text, still=False)


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


_FEWEST_RECORDS = 20


@dataclass(frozen=True)
class TimeUnits:
    """Judge the times of the last records of each partition, which `field` holds in this unit."""

    topic: str
    standing: Standing
    field: str
    unit: Format

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        for partition, times in sorted(dict(self.standing.times_read).items()):
            read, small, large = times.read, times.small, times.large
            odd = max(small, large)
            if odd < _FEWEST_RECORDS or 2 * odd < read:
                continue
            where = "before 1973" if small >= large else "beyond the year 9999, and are refused"
            text = (
                f"topic {self.topic}, partition {partition}: of the last {read:,} records, {odd:,} "
                f"have times {where}. Look at field {self.field}: "
                f"{advice(self.unit, too_small=small >= large)}"
            )
            yield Notice(Kind.TIME_UNIT, self.topic, partition, text, still=False)
