"""What a running pipeline tells about itself: a closed list of numbers.

Every number is a function of offsets, of clocks, of the pipeline file, of reasons why records were
refused, or of which streams were active; none is computed from a value, and none from the text of a
key. Labels name a topic and a partition, and for dead letters the reason.

Numbers about streams (how many there are, how much of the state was written for them) tell no more
than the keys of the sanitized topic do. With `sink.key: none` that topic does not say which
releases belong together, so these numbers are not shown either.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

Numbers = Mapping[str, Sequence[tuple[Sequence[str], float]]]
"""What one process shows, for another one to add to its own: labels and number, by metric."""

_PARTITION = ("topic", "partition")
_REASON = (*_PARTITION, "reason")


@dataclass(frozen=True)
class Metric:
    """Describe one metric of the closed list. An age is kept as the moment that it counts from."""

    name: str
    kind: Literal["counter", "gauge", "age"]
    labels: tuple[str, ...]
    text: str
    about_streams: bool = False


RECORDS_IN = Metric(
    "fugu_records_in_total", "counter", _PARTITION, "Records read from the source topic."
)
RECORDS_OUT = Metric(
    "fugu_records_out_total",
    "counter",
    _PARTITION,
    "Records given to Kafka: releases in the sink topic, dead letters in theirs.",
)
DEAD_LETTERS = Metric(
    "fugu_dead_letters_total", "counter", _REASON, "Records of the source topic that were refused."
)
REPLAYED = Metric(
    "fugu_replayed_releases_total",
    "counter",
    _PARTITION,
    "Releases and dead letters recognised as published before the restart, and skipped.",
)
LAG = Metric(
    "fugu_lag_records", "gauge", _PARTITION, "Offsets between what was read and the source's end."
)
SNAPSHOT_AGE = Metric(
    "fugu_last_snapshot_age_seconds",
    "age",
    _PARTITION,
    "Time since the last snapshot, or since reading began.",
)
STREAMS = Metric(
    "fugu_streams", "gauge", _PARTITION, "Keys that have a row of state.", about_streams=True
)
STREAMS_LIMIT = Metric(
    "fugu_streams_limit", "gauge", _PARTITION, "The partition's share of state.max_keys."
)
STATE_BYTES = Metric(
    "fugu_state_written_bytes_total",
    "counter",
    _PARTITION,
    "Bytes of rows written by snapshots; keys are not counted, so that no key's length shows.",
    about_streams=True,
)
START_TIME = Metric(
    "process_start_time_seconds", "gauge", (), "When the process started, in seconds since 1970."
)
REFUSED_STARTS = Metric(
    "fugu_refused_starts_total", "counter", (), "Refused starts over this state directory's life."
)
PROCESS_RESTARTS = Metric(
    "fugu_process_restarts_total",
    "counter",
    (),
    "Processes that ended by themselves and were started again by fugu run --processes.",
)

METRICS = (
    RECORDS_IN,
    RECORDS_OUT,
    DEAD_LETTERS,
    REPLAYED,
    LAG,
    SNAPSHOT_AGE,
    STREAMS,
    STREAMS_LIMIT,
    STATE_BYTES,
    START_TIME,
    REFUSED_STARTS,
    PROCESS_RESTARTS,
)


class Metrics:
    """The numbers of one process, kept as plain dictionaries: a change costs one look-up.

    A partition belongs to one thread, so no number is ever changed by two of them; the thread that
    serves the numbers reads copies.
    """

    def __init__(self, *, show_streams: bool = True) -> None:
        shown = [metric for metric in METRICS if show_streams or not metric.about_streams]
        self._numbers: dict[Metric, dict[tuple[str, ...], float]] = {m: {} for m in shown}
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self.positions: dict[int, int] = {}
        """The next source offset of every partition; never shown."""
        self.put(START_TIME, time.time())

    def add(self, metric: Metric, amount: float, *labels: str | int) -> None:
        """Count."""
        numbers = self._numbers.get(metric)
        if numbers is not None:
            key = tuple(map(str, labels))
            numbers[key] = numbers.get(key, 0) + amount

    def put(self, metric: Metric, value: float, *labels: str | int) -> None:
        """Set a number, or the monotonic moment from which an age counts."""
        numbers = self._numbers.get(metric)
        if numbers is not None:
            numbers[tuple(map(str, labels))] = value

    def values(self, metric: Metric) -> dict[tuple[str, ...], float]:
        """Return the present values by labels."""
        numbers = dict(self._numbers.get(metric, {}))
        if metric.kind == "age":
            now = time.monotonic()
            return {labels: now - moment for labels, moment in numbers.items()}
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
                else:
                    self.add(metric, value, *labels)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield the metric families that prometheus_client asks a collector for."""
        for metric in self._numbers:
            family = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            shown = family(metric.name, metric.text, labels=metric.labels)
            for labels, value in sorted(self.values(metric).items()):
                shown.add_metric(labels, value)
            yield shown

    def text(self) -> bytes:
        """The Prometheus text format."""
        return generate_latest(self._registry)
