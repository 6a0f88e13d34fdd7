"""An analyst's script: averages and time in zones, from the sanitized topic alone.

It needs what is public: the topic, the width of a tick, and the mean delay, which `fugu explain`
prints (`mean_delay`). Copy it and change the names.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from kafka import KafkaConsumer

from fugu.operators.mechanism import Floats, Integers

ZONES = ("rest", "light", "moderate", "vigorous")
_LIMITS = (90, 120, 150)
_PATIENCE_MS = 60_000
_FEWEST = 5
"""Values that an average needs."""


def read_topic(topic: str, releases: int, **settings: Any) -> dict[bytes, list[tuple[int, float]]]:
    """Read so many releases as they come; (time, value) of each key, of those that hold a value.

    The time is the end of the tick that a value left at. `settings` are those of kafka-python's
    consumer, such as `bootstrap_servers`.
    """
    streams: dict[bytes, list[tuple[int, float]]] = {}
    seen: set[bytes] = set()
    consumer = KafkaConsumer(
        topic,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=_PATIENCE_MS,
        **settings,
    )
    for record in consumer:
        name = dict(record.headers)["fugu-release"]
        release = orjson.loads(record.value)
        if name not in seen and not release["empty"] and release["phase"] == "steady":
            streams.setdefault(record.key, []).append((record.timestamp, release["value"]))
        seen.add(name)
        if len(seen) == releases:
            break
    consumer.close()
    return streams


def by_tick(
    stream: Sequence[tuple[int, float]], *, begin: int, ticks: int, width: int, lag: int
) -> Floats:
    """The values of one key, moved back by the mean delay; not a number where there is none.

    `begin` and `width` are milliseconds.
    """
    series = np.full(ticks, np.nan)
    for ended, value in stream:
        tick = (ended - begin) // width - 1 - lag
        if 0 <= tick < ticks:
            series[tick] = value
    return series


def moving_average(series: Floats, width: int = 10) -> Floats:
    """Average the ticks around each one, leaving out those without a value; series are rows."""
    around = [(0, 0)] * (series.ndim - 1) + [(width // 2, width - width // 2 - 1)]
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(series, around, constant_values=np.nan), width, axis=-1
    )
    there = ~np.isnan(windows)
    count = there.sum(axis=-1)
    total = np.where(there, windows, 0.0).sum(axis=-1)
    return np.where(count < _FEWEST, np.nan, total / np.maximum(count, 1))


def ticks_in_zones(series: Floats, period: int) -> Integers:
    """Return how many ticks of every period were in each zone, `(rows, periods, zones)`."""
    rows, ticks = series.shape
    periods = series.reshape(rows, ticks // period, period)
    zone = np.where(np.isnan(periods), -1, np.digitize(periods, _LIMITS))
    return np.stack([(zone == number).sum(axis=-1) for number in range(len(ZONES))], axis=-1)
