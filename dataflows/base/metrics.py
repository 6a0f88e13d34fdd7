"""Count what a running pipeline tells about itself, and hold where its process stands."""

import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from typing import Literal

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)


@dataclass(frozen=True)
class Told:
    """Hold up to which tick each of `partitions` has told all to the merge, of those that began."""

    partitions: int
    last: Mapping[int, int]

    @property
    def behind(self) -> list[int]:
        """Return the partitions that the others wait for, if there are any."""
        if not self.last:
            return []
        missing = [part for part in range(self.partitions) if part not in self.last]
        least, most = min(self.last.values()), max(self.last.values())
        if missing or least == most:
            return missing
        return sorted(part for part, tick in self.last.items() if tick == least)


_LAST = 1_000


@dataclass
class TimesRead:
    """Count how many of the last 1,000 records, or of the last batch, have times that nobody meant.

    `small` ones were read as long ago, `large` ones as beyond all years.
    """

    read: int = 0
    small: int = 0
    large: int = 0

    def add(self, read: int, small: int, large: int) -> None:
        """Count a batch."""
        if self.read + read > _LAST:
            self.read = self.small = self.large = 0
        self.read, self.small, self.large = self.read + read, self.small + small, self.large + large


@dataclass
class Joining:
    """Hold since when a process waits for a consumer group, and the last error."""

    since: float
    error: str = ""


@dataclass
class Standing:
    """Hold positions, stream times and the progress of the merge, of one process.

    Each entry is written by the thread that owns it; the thread that looks reads copies.

    `positions`: the next offset, by topic and partition. `times`: stream time, by partition of the
    source. `holding`: partitions whose open ticks hold values, as of the last snapshot.
    `crowded`: partitions where nearly all rows are taken, as of the last snapshot.
    `not_begun`: partitions that have refused records because stream time has not begun.
    `times_read`: the times of the last records of a partition, where a field holds them.
    `ahead_of_kafka`: how many records of a partition were refused because that time is far ahead of
    Kafka's. `spare`: the process shares a consumer group, which has no partition for it now.
    `joining`: topics of which a group has told this process nothing since it joined. `unowned`:
    positions in partitions that a group has given to no process of the pipeline, None where there
    is none yet.
    """

    positions: dict[tuple[str, int], int] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)
    holding: set[int] = field(default_factory=set)
    crowded: set[int] = field(default_factory=set)
    not_begun: set[int] = field(default_factory=set)
    told: Told | None = None
    times_read: dict[int, TimesRead] = field(default_factory=dict)
    ahead_of_kafka: dict[int, int] = field(default_factory=dict)
    spare: bool = False
    joining: dict[str, Joining] = field(default_factory=dict)
    unowned: dict[tuple[str, int], int | None] = field(default_factory=dict)

    def joins(self, topic: str) -> None:
        """Note that a group is asked for partitions of a topic from now on."""
        self.joining[topic] = Joining(time.monotonic())

    def joined(self, topic: str) -> None:
        """Note that it has told which ones there are for this process, if any."""
        self.joining.pop(topic, None)

    def troubled(self, topic: str, error: str) -> None:
        """Note why that is tried again."""
        if topic in self.joining:
            self.joining[topic].error = error

    def forget(self, topic: str, partition: int) -> None:
        """Drop what is known of a partition of the source that another process owns now."""
        self.positions.pop((topic, partition), None)
        for known in (self.times, self.times_read, self.ahead_of_kafka):
            known.pop(partition, None)
        self.holding.discard(partition)
        self.crowded.discard(partition)
        self.not_begun.discard(partition)


Numbers = Mapping[str, Sequence[tuple[Sequence[str], float]]]
"""The numbers of one process, for another one to add to its own: labels and number, by metric."""


@dataclass(frozen=True)
class Metric:
    """Describe one metric of the closed list.

    An age is kept as the moment that it counts from. The last label of a histogram is `le`, which
    is the bound of a bucket, or `sum`.
    """

    name: str
    kind: Literal["counter", "gauge", "age", "histogram"]
    text: str
    labels: tuple[str, ...] = ("topic", "partition")
    about_streams: bool = False
    largest: bool = False
    """Say that of several processes the largest number counts, and not the sum."""


RECORDS_IN = Metric("fugu_records_in_total", "counter", "Records read from the source topic.")
RECORDS_OUT = Metric(
    "fugu_records_out_total",
    "counter",
    "Records handed to Kafka's client, before Kafka has acknowledged them: releases for the sink "
    "topic, dead letters for theirs.",
)
DEAD_LETTERS = Metric(
    "fugu_dead_letters_total",
    "counter",
    "Records of the source topic that were refused.",
    ("topic", "partition", "reason"),
)
REPLAYED = Metric(
    "fugu_replayed_releases_total",
    "counter",
    "Releases and dead letters recognised as published before the restart, and skipped.",
)
POLICY_WAIT = Metric(
    "fugu_policy_wait_seconds",
    "gauge",
    "How long complete ticks have waited until the topic of policies is read.",
    ("topic",),
)
POLICY_NOISE = Metric(
    "fugu_policy_noise",
    "gauge",
    "Expected noise of the newest figure, with an even share of epsilon, in the unit of the data.",
    ("topic",),
)
COLLECTION_NOISE = Metric(
    "fugu_collection_noise",
    "gauge",
    "The same if no other collection had policies.",
    ("topic", "collection"),
)
COLLECTION_SENSITIVITY = Metric(
    "fugu_collection_sensitivity",
    "gauge",
    "By how much one individual may change the newest figure, in the unit of the data.",
    ("topic", "collection"),
)
COLLECTION_AFFECTED = Metric(
    "fugu_collection_affected_ticks",
    "gauge",
    "How many ticks of an interval that is open at the newest figure can differ, the most.",
    ("topic", "collection"),
)
LAG = Metric(
    "fugu_lag_records",
    "gauge",
    "Offsets between what was read and the source's end.",
    largest=True,
)
SNAPSHOT_AGE = Metric(
    "fugu_last_snapshot_age_seconds", "age", "Time since the last snapshot, or since reading began."
)
STREAMS = Metric("fugu_streams", "gauge", "Keys that have a row of state.", about_streams=True)
STREAMS_LIMIT = Metric("fugu_streams_limit", "gauge", "The partition's share of state.max_keys.")
STREAMS_BY_BUDGET = Metric(
    "fugu_streams_by_budget",
    "gauge",
    "Keys by the tenths of their budget that they have spent, or that are exhausted.",
    ("topic", "partition", "spent"),
    about_streams=True,
)
STATE_BYTES = Metric(
    "fugu_state_written_bytes_total",
    "counter",
    "Bytes of rows written by snapshots; keys are not counted, so that no key's length shows.",
    about_streams=True,
)
EVENT_TIME = Metric(
    "fugu_event_time_seconds",
    "gauge",
    "Median timestamp of the records last given to a sink topic, in seconds since 1970.",
    largest=True,
)
RELEASES_LEFT = Metric(
    "fugu_releases_left",
    "gauge",
    "How many ticks the budget still measures, at most; then figures are predicted.",
    ("topic",),
)
RELEASE_SECONDS = Metric(
    "fugu_release_seconds",
    "histogram",
    "Time from the poll of a record until the releases of its epoch are acknowledged.",
    ("topic", "le"),
)
RESTORES = Metric(
    "fugu_restores_total", "counter", "Partitions taken over, whose state was read back from Kafka."
)
FOREIGN_WRITES = Metric(
    "fugu_foreign_writes_total",
    "counter",
    "Records that something else wrote to the state topic, or the internal log, of a pipeline.",
)
BUILD = Metric(
    "fugu_build_info",
    "gauge",
    "1; the labels say what runs.",
    ("version", "python", "client", "kind", "implementation"),
    largest=True,
)
NOTICE = Metric(
    "fugu_notice_seconds",
    "gauge",
    "For how long a notice has been there, as the log says it; 0 when it is over.",
    ("kind", "topic", "partition"),
    largest=True,
)
START_TIME = Metric(
    "process_start_time_seconds", "gauge", "When the process started, in seconds since 1970.", ()
)
REFUSED_STARTS = Metric(
    "fugu_refused_starts_total", "counter", "Refused starts over this state directory's life.", ()
)
PROCESS_RESTARTS = Metric(
    "fugu_process_restarts_total",
    "counter",
    "Processes that ended by themselves and were started again by fugu run --processes.",
    (),
)
METRICS = tuple(metric for metric in list(vars().values()) if isinstance(metric, Metric))
"""All metrics above, in their order."""
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, inf)
_BOUNDS = tuple("+Inf" if bound == inf else f"{bound:g}" for bound in BUCKETS)
_SUM = "sum"


class Metrics:
    """Keep the numbers of one process as plain dictionaries: a change costs one look-up.

    Every number is a function of offsets, clocks, the pipeline file, policies, reasons of refusals,
    of which streams were active, or of what was released; none is computed from a value or from the
    text of a key. Labels name topic and partition, for dead letters the reason, and for policies
    the collection.

    Numbers about streams tell no more than the keys of the sanitized topic do. With `sink.key:
    none` that topic does not say which releases belong together, and figures over all people have
    no keys of theirs, so these numbers are not shown then.

    A partition belongs to one thread, so no number is ever changed by two of them; the thread that
    serves the numbers reads copies.
    """

    def __init__(self, *, pipeline: str | None = None, show_streams: bool = True) -> None:
        self._own = {} if pipeline is None else {"pipeline": pipeline}
        shown = [metric for metric in METRICS if show_streams or not metric.about_streams]
        self._numbers: dict[Metric, dict[tuple[str, ...], float]] = {m: {} for m in shown}
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self.standing = Standing()
        self.put(START_TIME, time.time())

    def add(self, metric: Metric, amount: float, *labels: str | int) -> None:
        """Add to a number."""
        numbers = self._numbers.get(metric)
        if numbers is not None:
            key = tuple(map(str, labels))
            numbers[key] = numbers.get(key, 0) + amount

    def observe(self, metric: Metric, value: float, count: int, topic: str, partition: int) -> None:
        """Add so many equal values to the histogram of a topic."""
        bound = _BOUNDS[bisect_left(BUCKETS, value)]
        self.add(metric, count, topic, bound, partition)
        self.add(metric, count * value, topic, _SUM, partition)

    def put(self, metric: Metric, value: float, *labels: str | int) -> None:
        """Set a number, or the monotonic moment from which an age counts."""
        numbers = self._numbers.get(metric)
        if numbers is not None:
            numbers[tuple(map(str, labels))] = value

    def drop(self, metric: Metric, *labels: str | int) -> None:
        """Show a number no more."""
        self._numbers.get(metric, {}).pop(tuple(map(str, labels)), None)

    def forget(self, topic: str, partition: int) -> None:
        """Drop gauges and ages of a partition that another process owns now."""
        for metric, numbers in self._numbers.items():
            if metric.kind in ("gauge", "age") and metric.labels[:2] == ("topic", "partition"):
                for labels in [one for one in list(numbers) if one[:2] == (topic, str(partition))]:
                    del numbers[labels]

    def values(self, metric: Metric) -> dict[tuple[str, ...], float]:
        """Return the present values by labels."""
        numbers = dict(self._numbers.get(metric, {}))
        if metric.kind == "age":
            now = time.monotonic()
            return {labels: now - moment for labels, moment in numbers.items()}
        if metric.kind == "histogram":
            return _without_partitions(numbers)
        return numbers

    def numbers(self) -> Numbers:
        """Return all present values."""
        return {metric.name: [*self.values(metric).items()] for metric in self._numbers}

    def include(self, numbers: Numbers) -> None:
        """Add what another process shows."""
        for metric in self._numbers:
            for labels, value in numbers.get(metric.name, ()):
                if metric.kind == "age":
                    self.put(metric, time.monotonic() - value, *labels)
                elif metric.largest:
                    self.put(metric, max(value, self.values(metric).get(tuple(labels), 0)), *labels)
                else:
                    self.add(metric, value, *labels)

    def collect(
        self,
    ) -> Iterator[CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily]:
        """Yield the metric families that prometheus_client asks a collector for."""
        for metric in self._numbers:
            if metric.kind == "histogram":
                yield self._histogram(metric)
                continue
            family = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            names, own = (*self._own, *metric.labels), (*self._own.values(),)
            shown = family(metric.name, metric.text, labels=names)
            for labels, value in sorted(self.values(metric).items()):
                shown.add_metric((*own, *labels), value)
            yield shown

    def _histogram(self, metric: Metric) -> HistogramMetricFamily:
        names, own = (*self._own, *metric.labels[:-1]), (*self._own.values(),)
        shown = HistogramMetricFamily(metric.name, metric.text, labels=names)
        values = self.values(metric)
        for place in sorted({labels[:-1] for labels in values}):
            counts = accumulate(values.get((*place, bound), 0) for bound in _BOUNDS)
            buckets = [*zip(_BOUNDS, counts, strict=True)]
            shown.add_metric((*own, *place), buckets, values.get((*place, _SUM), 0))
        return shown

    def text(self) -> bytes:
        """Return the numbers in the Prometheus text format."""
        return generate_latest(self._registry)


def _without_partitions(numbers: Mapping[tuple[str, ...], float]) -> dict[tuple[str, ...], float]:
    """Add up what the threads of several partitions have counted for a topic."""
    together: dict[tuple[str, ...], float] = {}
    for (topic, bound, *_), number in numbers.items():
        together[topic, bound] = together.get((topic, bound), 0) + number
    return together
