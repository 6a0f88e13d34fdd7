"""An analyst's script: figures with error bars, from the sanitized topic alone. Copy it.

`standard_error` is all that it takes. Noise is Laplace noise, which is farther out than 2.12
standard errors in one case of 20 (normal noise: 1.96), and below zero means nobody was seen.
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
    """Hold, for one group, the figure of each tick, its standard error, and whether it was
    published then or is the last published one again."""

    starts: list[int]
    values: Floats
    errors: Floats
    published: list[bool]

    @property
    def bars(self) -> tuple[Floats, Floats]:
        """Lower and upper ends: 95 of 100 hold the figure of the tick that was published."""
        reach = BARS_95 * self.errors
        return np.maximum(self.values - reach, 0.0), self.values + reach


def read_topic(topic: str, **settings: Any) -> dict[str, Figures]:
    """Everything in the topic by group, in the order of ticks; no figure is counted twice.

    `settings` are those of kafka-python's consumer, such as `bootstrap_servers`.
    """
    consumer = KafkaConsumer(**settings, enable_auto_commit=False)
    figures: dict[str, dict[bytes, dict[str, Any]]] = {}
    try:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning()
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            for records in consumer.poll(timeout_ms=1000).values():
                for record in records:
                    figure = orjson.loads(record.value)
                    name = dict(record.headers)["fugu-release"]
                    figures.setdefault(figure["group"], {})[name] = figure
    finally:
        consumer.close()
    return {group: _figures(list(found.values())) for group, found in figures.items()}


def _figures(found: list[dict[str, Any]]) -> Figures:
    found.sort(key=lambda figure: figure["start"])
    return Figures(
        [figure["start"] for figure in found],
        np.array([figure["value"] for figure in found], dtype=np.float64),
        np.array([figure["standard_error"] for figure in found], dtype=np.float64),
        [figure["published"] for figure in found],
    )
