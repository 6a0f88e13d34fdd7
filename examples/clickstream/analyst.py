"""An analyst's code: shares of pages with error bars, from the sanitized topic alone.

It needs what is public: the topic, the model file and epsilon. Copy it and change the names.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from kafka import KafkaConsumer, TopicPartition

from fugu.dataflows.files.model_file import read_model_file
from fugu.operators.estimates.share_estimators import DifferenceReader, ShareReader
from fugu.operators.mechanism import Floats, Integers, Kind, Releases
from fugu.operators.responses.frequency_estimates import FrequencyEstimate
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse

_THREADS = 2
_NUMBERS_AT_ONCE = 80_000
"""Of beliefs: so many stay in a processor's cache."""


def read_topic(topic: str, **settings: Any) -> dict[bytes, list[str]]:
    """The released pages of each pseudonym, in order; no release is counted twice.

    `settings` are those of kafka-python's consumer, such as `bootstrap_servers`.
    """
    streams: dict[bytes, list[str]] = {}
    seen: set[bytes] = set()
    for record in _records(topic, settings):
        name = dict(record.headers)["fugu-release"]
        if name not in seen:
            seen.add(name)
            streams.setdefault(record.key, []).append(orjson.loads(record.value)["page"])
    return streams


def reader_of(model: Path, epsilon: float) -> tuple[list[str], DifferenceReader]:
    """The pages, and how to read a release of one of them."""
    content = read_model_file(model)
    mechanism = ConditionalRandomizedResponse(content.model(), epsilon)
    return [str(page) for page in content.alphabet], DifferenceReader(mechanism)


def estimated_shares(
    reader: ShareReader,
    pages: int,
    streams: Sequence[Integers],
    advance: Callable[[int], None] = lambda releases: None,
) -> FrequencyEstimate:
    """The share of every page among all clicks, with standard errors over users.

    A share is a ratio, (sum of reports) / (sum of clicks), and users are what is independent. So
    its variance is that of the sum over users of (their reports - share times their clicks).
    """
    by_length, at_once = sorted(streams, key=len), users_at_once(pages)
    groups = [by_length[n : n + at_once] for n in range(0, len(by_length), at_once)]
    clicks = np.array([len(stream) for stream in by_length], dtype=np.float64)
    total = squares = products = np.zeros(pages)
    with ThreadPoolExecutor(_THREADS) as threads:
        found = threads.map(lambda group: _reports(reader, pages, group), groups)
        for group, reports in zip(groups, found, strict=True):
            lengths = np.array([len(stream) for stream in group])
            total = total + reports.sum(axis=0)
            squares = squares + (reports**2).sum(axis=0)
            products = products + lengths @ reports
            advance(int(lengths.sum()))
    shares = total / clicks.sum()
    squared = squares - 2.0 * shares * products + shares**2 * (clicks**2).sum()
    users = len(by_length)
    variance = np.maximum(squared, 0.0) * users / (users - 1)
    return FrequencyEstimate(shares, np.sqrt(variance) / clicks.sum())


def users_at_once(pages: int) -> int:
    """How many streams to read together."""
    return max(1, _NUMBERS_AT_ONCE // pages)


def _reports(reader: ShareReader, pages: int, streams: Sequence[Integers]) -> Floats:
    """The sum of what the releases of each user report, `(users, pages)`; short streams first."""
    reports = np.zeros((len(streams), pages))
    state, lengths = reader.start(len(streams)), np.array([len(stream) for stream in streams])
    for step in range(lengths.max()):
        state = {name: column[lengths[-len(column) :] > step] for name, column in state.items()}
        going = np.flatnonzero(lengths > step).tolist()
        released = np.array([streams[user][step] for user in going])
        kinds = np.full(len(going), Kind.FRESH)
        state, told = reader.read(state, Releases(released, kinds=kinds))
        reports[going] += told
    return reports


def _records(topic: str, settings: dict[str, Any]) -> Iterator[Any]:
    """Everything that is in the topic now."""
    consumer = KafkaConsumer(**settings, enable_auto_commit=False)
    try:
        partitions = [TopicPartition(topic, n) for n in consumer.partitions_for_topic(topic)]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            for records in consumer.poll(timeout_ms=1000).values():
                yield from records
    finally:
        consumer.close()
