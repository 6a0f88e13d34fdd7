"""An analyst's script: windows of anonymous records, from the sanitized topic alone. Copy it.

A window begins with a record that says how many records follow, or that it is suppressed.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import orjson
from kafka import KafkaConsumer, TopicPartition

Point = tuple[int, str]
"""When, in milliseconds since 1970, and where."""


@dataclass(frozen=True)
class Record:
    """Hold what one record says: the category of a diagnosis, and points in the order of time."""

    category: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Window:
    """A window of time; without records it is suppressed."""

    start: int
    records: list[Record] | None


def read_topic(topic: str, **settings: Any) -> list[Window]:
    """All windows of the topic in order; no record is counted twice.

    `settings` are those of kafka-python's consumer, such as `bootstrap_servers`.
    """
    consumer = KafkaConsumer(**settings, enable_auto_commit=False)
    found: dict[bytes, dict[str, Any]] = {}
    try:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning()
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            for records in consumer.poll(timeout_ms=1000).values():
                for record in records:
                    name = dict(record.headers)["fugu-release"]
                    found[name] = orjson.loads(record.value)
    finally:
        consumer.close()
    return _windows(list(found.values()))


def singled_out(records: Iterable[Record], crowd: int, known: int) -> tuple[int, int]:
    """Count the records that somebody finds who knows so many points of a person: among fewer than
    `crowd`, or with one category for more than half of all that match."""
    listed = list(records)
    matching: dict[tuple[Point, ...], list[int]] = {}
    for number, record in enumerate(listed):
        for count in range(1, known + 1):
            for points in combinations(record.points, count):
                matching.setdefault(points, []).append(number)
    few, told = set[int](), set[int]()
    for numbers in matching.values():
        if len(numbers) < crowd:
            few |= set(numbers)
        for category, count in Counter(listed[one].category for one in numbers).items():
            if 2 * count > len(numbers):
                told |= {one for one in numbers if listed[one].category == category}
    return len(few), len(told)


def _windows(found: list[dict[str, Any]]) -> list[Window]:
    records: dict[int, list[Record]] = {}
    for one in found:
        if "points" in one:
            points = tuple((at, place) for at, place in one["points"])
            records.setdefault(one["start"], []).append(Record(one["diagnosis"], points))
    heads = sorted((one["start"], one["window"]) for one in found if "window" in one)
    return [
        Window(start, records.get(start, []) if window == "released" else None)
        for start, window in heads
    ]
