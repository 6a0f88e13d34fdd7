"""An analyst's script: counts with error bars from both sanitized topics alone. Copy it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from kafka import KafkaConsumer, TopicPartition

from fugu.operators.estimates.shares import share_reader
from fugu.operators.estimates.stream_reports import CountEstimate, estimated_counts
from fugu.operators.mechanism import Array, Floats, Kind, Releases
from fugu.operators.wevent_local.window_reports import WindowReports


@dataclass(frozen=True, eq=False)
class Reports:
    """Releases of every rider in every tick, in the order of ticks.

    `bits (ticks, riders, zones)`, and whether each is `new`, `(ticks, riders)`.
    """

    bits: Array
    new: Array

    def releases(self) -> Iterator[Releases]:
        """Yield those of each tick."""
        for bits, new in zip(self.bits, self.new, strict=True):
            yield Releases(bits, kinds=np.where(new, Kind.FRESH, Kind.REPEATED))

    def counts(self, mechanism: WindowReports) -> Iterator[CountEstimate]:
        """Estimate the counts of every tick; the mechanism is that of the pipeline file."""
        reader = share_reader(mechanism)
        assert reader is not None
        state = reader.start(self.bits.shape[1])
        for releases in self.releases():
            state, told = reader.read(state, releases)
            yield estimated_counts(told)


@dataclass(frozen=True, eq=False)
class Counts:
    """Central counts `(ticks, zones)`, with standard errors (NaN before anything was published),
    and the nats that each tick cost, decisions and publications together."""

    values: Floats
    errors: Floats
    spent: Floats


def read_reports(topic: str, zones: tuple[str, ...], ticks: int, **settings: Any) -> Reports:
    """Read what every rider reported; the record after the last tick is left out."""
    riders: dict[bytes, list[dict[str, Any]]] = {}
    for key, value in _released(topic, **settings):
        riders.setdefault(key, []).append(value)
    by_rider = [told[:ticks] for told in riders.values()]
    sets = [[[zone in one["zone"] for zone in zones] for one in told] for told in by_rider]
    new = [["repeated" not in one for one in told] for told in by_rider]
    return Reports(np.array(sets, dtype=bool).transpose(1, 0, 2), np.array(new, dtype=bool).T)


def read_counts(topic: str, zones: tuple[str, ...], **settings: Any) -> Counts:
    """Read the figures of every zone and tick."""
    figures = {(one["start"], one["group"]): one for _, one in _released(topic, **settings)}
    starts = sorted({start for start, _ in figures})
    rows = [[figures[start, zone] for zone in zones] for start in starts]

    def column(name: str) -> Floats:
        return np.array([[figure[name] for figure in row] for row in rows], dtype=np.float64)

    spent = column("decision_epsilon") + column("publication_epsilon")
    return Counts(column("value"), column("standard_error"), spent[:, 0])


def _released(topic: str, **settings: Any) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield keys and values in the order of partitions; no release twice.

    `settings` are those of kafka-python's consumer, such as `bootstrap_servers`.
    """
    consumer = KafkaConsumer(**settings, enable_auto_commit=False)
    seen: set[bytes] = set()
    try:
        partitions = [TopicPartition(topic, one) for one in consumer.partitions_for_topic(topic)]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(one) < end for one, end in ends.items()):
            for records in consumer.poll(timeout_ms=1000).values():
                for record in records:
                    name = dict(record.headers)["fugu-release"]
                    if name not in seen:
                        seen.add(name)
                        yield record.key, orjson.loads(record.value)
    finally:
        consumer.close()
