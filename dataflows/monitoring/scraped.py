"""Ask a running pipeline for its numbers and its health, and say what they come to."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import pairwise
from typing import Any

import orjson
from prometheus_client.parser import text_string_to_metric_families

from fugu.dataflows.base.metrics import (
    BUILD,
    DEAD_LETTERS,
    EVENT_TIME,
    LAG,
    NOTICE,
    RECORDS_IN,
    RECORDS_OUT,
    RELEASE_SECONDS,
    SNAPSHOT_AGE,
    STREAMS,
    STREAMS_BY_BUDGET,
    Metric,
)
from fugu.dataflows.pipeline.config import PipelineFile

_ANSWER_SECONDS = 5.0
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
_COUNTED = "_bucket"
_LATE = 0.99

Sample = tuple[Mapping[str, str], float]


@dataclass(frozen=True)
class Scrape:
    """Hold what a pipeline said at a moment: samples by name, and its health."""

    moment: float
    samples: Mapping[str, list[Sample]]
    health: Mapping[str, Any]

    def total(self, metric: Metric, **labels: str) -> float:
        """Return the sum of all samples with these labels."""
        return sum(value for _, value in self.of(metric, **labels))

    def of(self, metric: Metric, **labels: str) -> Iterator[Sample]:
        """Yield the samples of a metric that have these labels."""
        for own, value in self.samples.get(metric.name, ()):
            if labels.items() <= own.items():
                yield own, value

    def by(self, metric: Metric, label: str) -> dict[str, float]:
        """Return the sums by one label."""
        sums: dict[str, float] = {}
        for own, value in self.of(metric):
            sums[own.get(label, "")] = sums.get(own.get(label, ""), 0.0) + value
        return sums


@dataclass(frozen=True)
class Figures:
    """Hold what is shown of one pipeline.

    Rates are records in a second, None before the second look. `event_time` is the time of the
    records that were released last, in seconds since 1970; `late_seconds` is below what 99 of 100
    releases took.
    """

    pipeline: str
    status: str
    reasons: list[str] = field(default_factory=list)
    kind: str = ""
    client: str = ""
    records_in: float | None = None
    releases: float | None = None
    refused_rate: float | None = None
    lag: float | None = None
    event_time: float | None = None
    last_epoch_seconds: float | None = None
    late_seconds: float | None = None
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    streams: int | None = None
    budgets: Mapping[str, int] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


class Asked:
    """Ask one pipeline again and again; rates are those between two answers."""

    def __init__(self, file: PipelineFile) -> None:
        pipeline = file.pipeline
        self._name, self._endpoint = pipeline.name, pipeline.metrics
        self._source = pipeline.source.topic
        self._sink, self._dead = pipeline.sink.topic, pipeline.sink.dead_letter_topic
        self._before: Scrape | None = None

    def figures(self) -> Figures:
        """Return the figures of now; a pipeline that does not answer is told, too."""
        if self._endpoint is None:
            return Figures(self._name, "unknown", ["its file has no metrics: {port: 9464}"])
        host = _EVERYWHERE.get(self._endpoint.host, self._endpoint.host)
        try:
            now = scrape(host, self._endpoint.port)
        except (OSError, HTTPException, ValueError) as error:
            self._before = None
            why = f"{host}:{self._endpoint.port} does not answer ({type(error).__name__})"
            return Figures(self._name, "away", [why])
        before, self._before = self._before, now
        return self._told(now, before)

    def _told(self, now: Scrape, before: Scrape | None) -> Figures:
        build = next((labels for labels, _ in now.of(BUILD)), {})
        times = [value for _, value in now.of(EVENT_TIME, topic=self._sink)]
        ages = [value for _, value in now.of(SNAPSHOT_AGE)]
        lags = [value for _, value in now.of(LAG)]
        refused = {name: int(n) for name, n in now.by(DEAD_LETTERS, "reason").items() if n}
        reason = now.health.get("reason")
        return Figures(
            pipeline=build.get("pipeline", self._name),
            status=str(now.health.get("status", "unknown")),
            reasons=[str(reason)] if reason else _texts(now, "reasons") + _texts(now, "waiting"),
            kind=build.get("kind", ""),
            client=build.get("client", ""),
            records_in=_rate(now, before, RECORDS_IN, topic=self._source),
            releases=_rate(now, before, RECORDS_OUT, topic=self._sink),
            refused_rate=_rate(now, before, RECORDS_OUT, topic=self._dead),
            lag=sum(lags) if lags else None,
            event_time=max(times, default=None),
            last_epoch_seconds=max(ages, default=None),
            late_seconds=_below(now, before, _LATE),
            dead_letters=dict(sorted(refused.items(), key=lambda item: -item[1])),
            streams=int(now.total(STREAMS)) if STREAMS.name in now.samples else None,
            budgets={name: int(n) for name, n in now.by(STREAMS_BY_BUDGET, "spent").items() if n},
            notices=sorted({own["kind"] for own, seconds in now.of(NOTICE) if seconds > 0}),
        )


def scrape(host: str, port: int) -> Scrape:
    """Ask for `/metrics` and `/healthz`; `ValueError` for an answer of something else."""
    connection = HTTPConnection(host, port, timeout=_ANSWER_SECONDS)
    try:
        numbers = _page(connection, "/metrics").decode()
        health = orjson.loads(_page(connection, "/healthz"))
    finally:
        connection.close()
    samples: dict[str, list[Sample]] = {}
    for family in text_string_to_metric_families(numbers):
        for sample in family.samples:
            samples.setdefault(sample.name, []).append((sample.labels, sample.value))
    if not any(name.startswith("fugu_") for name in samples):
        raise ValueError("no metrics of Fugu")
    return Scrape(time.monotonic(), samples, health if isinstance(health, dict) else {})


def _page(connection: HTTPConnection, path: str) -> bytes:
    connection.request("GET", path, headers={"Connection": "close"})
    return connection.getresponse().read()


def _texts(now: Scrape, name: str) -> list[str]:
    found = now.health.get(name, [])
    return [str(one) for one in found] if isinstance(found, list) else []


def _rate(now: Scrape, before: Scrape | None, metric: Metric, **labels: str) -> float | None:
    """Return how much a counter grew in a second; None where it began anew meanwhile."""
    if before is None:
        return None
    grown = now.total(metric, **labels) - before.total(metric, **labels)
    seconds = now.moment - before.moment
    return grown / seconds if grown >= 0 and seconds > 0 else None


def _below(now: Scrape, before: Scrape | None, share: float) -> float | None:
    """Return the bound of a bucket below which a share of the releases of late is."""
    counts = _buckets(now)
    for bound, count in _buckets(before).items() if before is not None else ():
        counts[bound] = counts.get(bound, 0.0) - count
    bounds = sorted(counts)
    total = counts[bounds[-1]] if bounds else 0.0
    if total <= 0:
        return None
    for bound, larger in pairwise(bounds):
        if counts[bound] >= share * total:
            return bound
        if larger == float("inf"):
            return larger
    return bounds[-1]


def _buckets(scrape: Scrape) -> dict[float, float]:
    counts: dict[float, float] = {}
    for labels, value in scrape.samples.get(f"{RELEASE_SECONDS.name}{_COUNTED}", ()):
        bound = float(labels["le"])
        counts[bound] = counts.get(bound, 0.0) + value
    return counts
