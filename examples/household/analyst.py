"""An analyst's script: figures with error bars, from the sanitized topic alone. Copy it.

`status` says how far to trust a figure: what is exact has no noise; what was sampled has Laplace
noise, which is farther out than 2.12 standard errors in one case of 20; and what is repeated was
sampled earlier, and has aged since.
"""

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
import orjson
from kafka import KafkaConsumer, TopicPartition

from fugu.operators.mechanism import Floats

BARS_95 = log(20.0) / sqrt(2.0)


@dataclass(frozen=True, eq=False)
class Figures:
    """One for each tick, with its standard error, what became of it, and by how much any one
    household could change it as far as policies say; not a number where there is none."""

    starts: list[int]
    values: Floats
    errors: Floats
    status: list[str]
    sensitivities: Floats

    @property
    def bars(self) -> tuple[Floats, Floats]:
        """Lower and upper ends: 95 of 100 hold the true figure of the tick that was sampled."""
        reach = BARS_95 * self.errors
        return self.values - reach, self.values + reach

    def share(self, status: str) -> float:
        """Return the share of ticks that have this status."""
        return self.status.count(status) / len(self.status)


def read_topic(topic: str, **settings: Any) -> Figures:
    """Everything in the topic in the order of ticks; no figure is counted twice.

    `settings` are those of kafka-python's consumer, such as `bootstrap_servers`.
    """
    consumer = KafkaConsumer(**settings, enable_auto_commit=False)
    figures: dict[bytes, dict[str, Any]] = {}
    try:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning()
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            for records in consumer.poll(timeout_ms=1000).values():
                for record in records:
                    name = dict(record.headers)["fugu-release"]
                    figures[name] = orjson.loads(record.value)
    finally:
        consumer.close()
    return figures_of(list(figures.values()))


def figures_of(found: list[dict[str, Any]]) -> Figures:
    """Return the figures of records in any order; `uniform` has neither status nor policies."""
    found = sorted(found, key=lambda figure: int(figure["start"]))
    return Figures(
        [figure["start"] for figure in found],
        np.array([figure["value"] for figure in found], dtype=np.float64),
        np.array([figure["standard_error"] for figure in found], dtype=np.float64),
        [figure.get("status", "sampled") for figure in found],
        np.array([figure.get("sensitivity") for figure in found], dtype=np.float64),
    )
