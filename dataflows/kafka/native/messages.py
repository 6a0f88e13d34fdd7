"""Turn the messages of a queue into batches of columns, and free each of them once."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.columns import HeaderColumns, OptionalByteColumn
from fugu.dataflows.kafka.native.headers import read_headers
from fugu.dataflows.kafka.native.taking import (
    COUNTS,
    EVENT_COLUMNS,
    EVENTS,
    FREED,
    KEY_BYTES,
    KEY_LENGTH,
    OFFSET,
    RECORD_ROWS,
    RECORDS,
    TAKEN,
    TIMESTAMP,
    VALUE_BYTES,
    VALUE_LENGTH,
    Addresses,
    copy,
    free,
    take,
)
from fugu.operators.byte_column import Bytes
from fugu.operators.integer_column import IntegerColumn
from fugu.operators.mechanism import Integers


@dataclass(frozen=True)
class Event:
    """Hold what came in place of a record; without a topic it is about the group."""

    error: int
    partition: int
    offset: int
    has_topic: int


class Messages:
    """Take messages out of one queue."""

    def __init__(self, queue: int) -> None:
        self._queue = queue
        self._counts = np.zeros(COUNTS, dtype=np.int64)
        self._make_room(0)

    @property
    def held(self) -> int:
        """Return how many messages were taken and are not freed; none between two calls."""
        return int(self._counts[TAKEN] - self._counts[FREED])

    @property
    def freed(self) -> int:
        """Return how many messages were freed."""
        return int(self._counts[FREED])

    def take(self, limit: int, *, with_headers: bool) -> tuple[list[Batch], list[Event]]:
        """Return what has arrived, without waiting: a batch per partition, and other events.

        Raises `OSError` if librdkafka cannot be asked.
        """
        if limit > len(self._messages):
            self._make_room(limit)
        messages = self._messages[:limit]
        if not take(self._queue, messages, self._partitions, self._events, self._counts):
            raise OSError("librdkafka did not look into its queue")
        records = int(self._counts[RECORDS])
        events = self._events[: self._counts[EVENTS]].tolist()
        try:
            batches = list(self._batches(records, with_headers)) if records else []
        finally:
            if self.held:
                free(messages, self._counts)
        return batches, [Event(*event) for event in events]

    def _batches(self, records: int, with_headers: bool) -> Iterator[Batch]:
        messages, partitions = self._messages[:records], self._partitions[:records]
        order = np.arange(records)
        if (partitions != partitions[0]).any():
            order = np.argsort(partitions, kind="stable")
            partitions = partitions[order]
        headers = read_headers(messages, order) if with_headers else HeaderColumns(records, {})
        known = np.empty((RECORD_ROWS, records), dtype=np.int64)
        keys = np.empty(self._counts[KEY_BYTES], dtype=np.uint8)
        values = np.empty(self._counts[VALUE_BYTES], dtype=np.uint8)
        if not copy(messages, order, known, keys, values, self._counts):
            raise MemoryError("messages of librdkafka changed while they were copied")
        key_column = _Contents(keys, known[KEY_LENGTH])
        value_column = _Contents(values, known[VALUE_LENGTH])
        for begin, end in _runs(partitions):
            yield Batch(
                int(partitions[begin]),
                IntegerColumn(known[OFFSET, begin:end]),
                IntegerColumn(known[TIMESTAMP, begin:end]),
                key_column.part(begin, end),
                value_column.part(begin, end),
                headers[begin:end],
            )

    def _make_room(self, limit: int) -> None:
        self._messages: Addresses = np.zeros(limit, dtype=np.uint64)
        self._partitions: Integers = np.zeros(limit, dtype=np.int64)
        self._events: Integers = np.zeros((limit, EVENT_COLUMNS), dtype=np.int64)


def _runs(partitions: Integers) -> Iterator[tuple[int, int]]:
    """Yield where each run of one partition begins and ends."""
    cuts = (np.flatnonzero(partitions[1:] != partitions[:-1]) + 1).tolist()
    return pairwise([0, *cuts, len(partitions)])


class _Contents:
    """Cut one string of bytes into the columns of several batches, each with its own bytes."""

    def __init__(self, content: Bytes, lengths: Integers) -> None:
        there = np.maximum(lengths, 0)
        self._content, self._lengths = content, lengths
        self._bounds = np.concatenate(([0], there.cumsum()))

    def part(self, begin: int, end: int) -> OptionalByteColumn:
        """Return the column of some records."""
        first, last = self._bounds[begin], self._bounds[end]
        begins = self._bounds[begin:end] - first
        return OptionalByteColumn(self._content[first:last], begins, self._lengths[begin:end])
