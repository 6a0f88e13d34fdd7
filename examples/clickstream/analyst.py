"""Estimate, as an analyst, shares of pages with error bars, from the sanitized topic alone.

It needs what is public: the topic, the model file and epsilon. Copy it and change the names.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from kafka import KafkaConsumer, TopicPartition

from fugu.dataflows.files.model_file import read_model_file
from fugu.operators.estimates.ratios_over_users import RatioSums
from fugu.operators.estimates.shares import DifferenceReader, ShareReader
from fugu.operators.estimates.stream_reports import told_by_streams
from fugu.operators.mechanism import Integers, Kind, Releases
from fugu.operators.responses.frequency_estimates import FrequencyEstimate
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse


def read_topic(topic: str, **settings: Any) -> dict[bytes, list[str]]:
    """Return the released pages of each pseudonym, in order; no release is counted twice.

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
    """Return the pages, and how to read a release of one of them."""
    content = read_model_file(model)
    mechanism = ConditionalRandomizedResponse(content.model(), epsilon)
    return [str(page) for page in content.alphabet], DifferenceReader(mechanism)


def estimated_shares(
    reader: ShareReader,
    pages: int,
    streams: Sequence[Integers],
    advance: Callable[[int], None] = lambda releases: None,
) -> FrequencyEstimate:
    """Return the share of every page among all clicks, with standard errors over users.

    Users are what is independent, so each of them is a row: the sum of what their releases report,
    and how many there are.
    """
    users = np.repeat(np.arange(len(streams)), [len(stream) for stream in streams])
    kinds = np.full(len(users), Kind.FRESH)
    releases, sums = Releases(np.concatenate(streams), kinds=kinds), RatioSums(1, pages)
    for told in told_by_streams(reader, users, releases):
        order = np.argsort(users[told.places], kind="stable")
        _, begins = np.unique(users[told.places][order], return_index=True)
        reports = np.add.reduceat(told.reports[order], begins)
        clicks = np.add.reduceat(told.records[order], begins).astype(np.float64)
        sums.add(np.zeros(len(begins), dtype=np.int64), reports, clicks)
        advance(len(told.places))
    found = sums.ratios()
    return FrequencyEstimate(found.estimates[0], found.standard_errors[0])


def _records(topic: str, settings: dict[str, Any]) -> Iterator[Any]:
    """Return everything that is in the topic now."""
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
