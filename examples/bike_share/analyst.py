"""An analyst's script: figures with error bars, from the sanitized topic alone. Copy it.

`standard_error` is all that it takes: 1.96 of it each way hold the true figure in 19 hours of 20.
Below zero means nobody was there; let figures below zero be, and sums over many hours stay right.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from kafka import KafkaConsumer, TopicPartition

from fugu.operators.mechanism import Array, Floats

BARS_95 = 1.96


@dataclass(frozen=True, eq=False)
class Figures:
    """Hold, for one group, the estimate of each tick, its standard error, whether it was measured
    or only predicted, and what of the budget was spent and remained then, in units of rho."""

    starts: list[int]
    values: Floats
    errors: Floats
    measured: Array
    spent: Floats
    remaining: Floats

    @property
    def bars(self) -> tuple[Floats, Floats]:
        """Lower and upper ends: 95 of 100 hold the true figure."""
        reach = BARS_95 * self.errors
        return self.values - reach, self.values + reach


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

    def numbers(name: str) -> Floats:
        return np.array([figure[name] for figure in found], dtype=np.float64)

    return Figures(
        [figure["start"] for figure in found],
        numbers("value"),
        numbers("standard_error"),
        np.array([figure["status"] == "measured" for figure in found]),
        numbers("spent_rho"),
        numbers("remaining_rho"),
    )
