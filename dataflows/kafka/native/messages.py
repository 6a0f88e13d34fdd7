"""Turn the messages of a queue into batches of columns, and free each of them once."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.columns import HeaderColumns, OptionalByteColumn
from fugu.dataflows.kafka.native.headers import read_headers
from fugu.dataflows.kafka.native.taking import (
    ARRIVED,
    COUNTS,
    EVENT_COLUMNS,
    EVENTS,
    FREED,
    KEY_BEGIN,
    KEY_BYTES,
    KEY_LENGTH,
    OFFSET,
    READ,
    RECORD_ROWS,
    RECORDS,
    TAKEN,
    TIMESTAMP,
    TURNS,
    VALUE_BEGIN,
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

_MOST_BYTES = 64 * 1_048_576
"""Keys and values that are copied at once; librdkafka's own memory is freed with each record."""


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
        self._left: Addresses = np.zeros(0, dtype=np.uint64)
        self._make_room(0)

    @property
    def held(self) -> int:
        """Return how many messages were taken and are not freed: between two calls, those that are
        left for the next one because many are large."""
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
        messages, left = self._messages[:limit], len(self._left[:limit])
        messages[:left] = self._left[:limit]
        places = messages, self._partitions, self._events, self._counts
        if not take(self._queue, left, _MOST_BYTES, *places):
            raise OSError("librdkafka did not look into its queue")
        behind = messages[self._counts[READ] : self._counts[ARRIVED]]
        self._left = np.concatenate([behind, self._left[limit:]])
        behind[:] = 0
        try:
            records, events = int(self._counts[RECORDS]), int(self._counts[EVENTS])
            batches = list(self._batches(records, with_headers)) if records else []
            return batches, [Event(*event) for event in self._events[:events].tolist()]
        finally:
            if self.held > len(self._left):
                free(messages, self._counts)

    def drop(self) -> None:
        """Free what is left for the next call, which was read for nothing."""
        free(self._left, self._counts)
        self._left = self._left[:0]

    def _batches(self, records: int, with_headers: bool) -> Iterator[Batch]:
        messages, partitions = self._messages[:records], self._partitions[:records]
        order, bounds = self._in_order[:records], [0, records]
        if self._counts[TURNS]:
            order = np.argsort(partitions, kind="stable")
            partitions = partitions[order]
            cuts = np.flatnonzero(partitions[1:] != partitions[:-1]) + 1
            bounds[1:1] = cuts.tolist()
        headers = read_headers(messages, order) if with_headers else HeaderColumns(records, {})
        known = np.empty((RECORD_ROWS, records), dtype=np.int64)
        keys = np.empty(self._counts[KEY_BYTES], dtype=np.uint8)
        values = np.empty(self._counts[VALUE_BYTES], dtype=np.uint8)
        if not copy(messages, order, known, keys, values, self._counts):
            raise MemoryError("messages of librdkafka changed while they were copied")
        for begin, end in pairwise(bounds):
            own = known[:, begin:end]
            yield Batch(
                int(partitions[begin]),
                IntegerColumn(own[OFFSET]),
                IntegerColumn(own[TIMESTAMP]),
                _column(keys, own[KEY_BEGIN], own[KEY_LENGTH]),
                _column(values, own[VALUE_BEGIN], own[VALUE_LENGTH]),
                headers[begin:end],
            )

    def _make_room(self, limit: int) -> None:
        self._messages: Addresses = np.zeros(limit, dtype=np.uint64)
        self._partitions: Integers = np.zeros(limit, dtype=np.int64)
        self._events: Integers = np.zeros((limit, EVENT_COLUMNS), dtype=np.int64)
        self._in_order: Integers = np.arange(limit)


def _column(content: Bytes, begins: Integers, lengths: Integers) -> OptionalByteColumn:
    """Return the strings of one batch, with no bytes of others."""
    first, end = begins[0], begins[-1] + max(0, lengths[-1])
    return OptionalByteColumn(content[first:end], begins - first, lengths)
