"""Take messages out of librdkafka's queues into columns, and free each of them once."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import Batch, Header
from fugu.dataflows.base.columns import NONE, HeaderColumns, OptionalByteColumn
from fugu.dataflows.kafka.native.library import (
    MESSAGE_ERROR,
    MESSAGE_KEY,
    MESSAGE_KEY_LENGTH,
    MESSAGE_OFFSET,
    MESSAGE_PARTITION,
    MESSAGE_TOPIC,
    MESSAGE_VALUE,
    MESSAGE_VALUE_LENGTH,
    WORD,
    byte_at,
    compiled,
    copied,
    half_word_at,
    word_at,
)
from fugu.operators.columns import Bytes, IntegerColumn
from fugu.operators.compiled.compiling import entry_point, inlined, part
from fugu.operators.mechanism import Integers

Addresses = NDArray[np.uint64]

_headers_of = compiled("rd_kafka_message_headers")
_header_count = compiled("rd_kafka_header_cnt")
_header_at = compiled("rd_kafka_header_get_all")

_LIST, _NAME, _VALUE, _VALUE_LENGTH = range(4)
_ANSWERS = 4
"""The words that librdkafka writes its answers into."""

_HEADERS, _NAME_BYTES, _VALUE_BYTES = range(3)


def read_headers(messages: Addresses, order: Integers) -> list[list[Header]]:
    """Return the headers of these messages; none where a name is no text."""
    answers = np.zeros(_ANSWERS, dtype=np.int64)
    counts = np.zeros(len(order), dtype=np.int64)
    totals = np.zeros(3, dtype=np.int64)
    _measure(messages, order, answers, counts, totals)
    name_lengths, value_lengths = np.zeros((2, totals[_HEADERS]), dtype=np.int64)
    names = np.zeros(totals[_NAME_BYTES], dtype=np.uint8)
    values = np.zeros(totals[_VALUE_BYTES], dtype=np.uint8)
    _copy(messages, order, answers, counts, name_lengths, value_lengths, names, values)
    pairs = list(
        zip(_header_column(names, name_lengths), _header_column(values, value_lengths), strict=True)
    )
    bounds = pairwise(accumulate(counts.tolist(), initial=0))
    return [_readable(pairs[begin:end]) for begin, end in bounds]


def _readable(pairs: list[tuple[bytes | None, bytes | None]]) -> list[Header]:
    """Return headers, so that no producer stops the pipeline with what is no text."""
    try:
        return [((name or b"").decode(), value) for name, value in pairs]  # type: ignore[misc]
    except UnicodeDecodeError:
        return []


def _header_column(content: Bytes, lengths: Integers) -> OptionalByteColumn:
    there = np.maximum(lengths, 0)
    return OptionalByteColumn(content, there.cumsum() - there, lengths)


@part
def _name_length(answers: Integers) -> int:
    """Measure the name that is among the answers; librdkafka ends it with a zero."""
    name, length = np.uint64(answers[_NAME]), 0
    while byte_at(name + np.uint64(length)) != 0:
        length += 1
    return length


@part
def _found(message: int, answers: Integers) -> int:
    """Return how many headers a message has; their list is among the answers."""
    if _headers_of(message, answers.ctypes.data + np.uint64(WORD * _LIST)) != 0:
        return 0
    return int(_header_count(np.uint64(answers[_LIST])))


@part
def _look_at(number: int, answers: Integers) -> bool:
    at = answers.ctypes.data
    error: int = _header_at(
        np.uint64(answers[_LIST]),
        number,
        at + np.uint64(WORD * _NAME),
        at + np.uint64(WORD * _VALUE),
        at + np.uint64(WORD * _VALUE_LENGTH),
    )
    return error == 0


@entry_point
def _measure(
    messages: Addresses, order: Integers, answers: Integers, counts: Integers, totals: Integers
) -> None:
    for row in range(min(len(order), len(counts))):
        for number in range(_found(messages[order[row]], answers)):
            if not _look_at(number, answers):
                break
            counts[row] += 1
            totals[_HEADERS] += 1
            totals[_NAME_BYTES] += _name_length(answers)
            if answers[_VALUE] != 0:
                totals[_VALUE_BYTES] += answers[_VALUE_LENGTH]


@entry_point
def _copy(
    messages: Addresses,
    order: Integers,
    answers: Integers,
    counts: Integers,
    name_lengths: Integers,
    value_lengths: Integers,
    names: Bytes,
    values: Bytes,
) -> None:
    """Copy all headers; what would not fit, since it is not what was measured, is left out."""
    header = name_end = value_end = 0
    for row in range(min(len(order), len(counts))):
        _found(messages[order[row]], answers)
        for number in range(counts[row]):
            if not _look_at(number, answers) or header == len(name_lengths):
                return
            name_length = _name_length(answers)
            value_length = NONE if answers[_VALUE] == 0 else answers[_VALUE_LENGTH]
            if name_length > len(names) - name_end or value_length > len(values) - value_end:
                return
            to = names.ctypes.data + np.uint64(name_end)
            copied(to, np.uint64(answers[_NAME]), np.uint64(name_length))
            name_end += name_length
            if value_length > 0:
                to = values.ctypes.data + np.uint64(value_end)
                copied(to, np.uint64(answers[_VALUE]), np.uint64(value_length))
                value_end += value_length
            name_lengths[header] = name_length
            value_lengths[header] = value_length
            header += 1


_consume = compiled("rd_kafka_consume_batch_queue")
_timestamp = compiled("rd_kafka_message_timestamp")
_destroy = compiled("rd_kafka_message_destroy")

EVENT_ERROR, EVENT_PARTITION, EVENT_OFFSET, EVENT_HAS_TOPIC = range(4)
EVENT_COLUMNS = 4
"""The numbers kept about something that came in place of a record."""

OFFSET, TIMESTAMP, KEY_BEGIN, KEY_LENGTH, VALUE_BEGIN, VALUE_LENGTH = range(6)
RECORD_ROWS = 6
"""The numbers kept about a record, besides its bytes."""

RECORDS, TURNS, EVENTS, KEY_BYTES, VALUE_BYTES, READ, ARRIVED, TAKEN, FREED = range(9)
COUNTS = 9
"""The counts: records, how often the next one is of another partition, other events, bytes, and how
many messages were looked at of those that arrived; the last two are of all messages since the
reader was made."""


@inlined
def _field(message: int, word: int) -> int:
    return int(word_at(message + np.uint64(word * WORD)))


@inlined
def _half_field(message: int, word: int) -> int:
    return int(half_word_at(message + np.uint64(word * WORD)))


@part
def _free(messages: Addresses, place: int, counts: Integers) -> None:
    message = messages[place]
    messages[place] = 0
    if message != 0:
        _destroy(message)
        counts[FREED] += 1


@entry_point
def take(
    queue: int,
    left: int,
    most: int,
    messages: Addresses,
    partitions: Integers,
    events: Integers,
    counts: Integers,
) -> bool:
    """Take what has arrived, without waiting; return whether librdkafka could be asked.

    `take` asks for messages and measures them, the caller makes room, and `copy` fills it. Each
    message is freed exactly once: what is counted says so.

    Addresses of records stay in `messages`, in their order; everything else becomes a row of
    `events`. All arrays have room for as many as `messages`. Once keys and values have `most`
    bytes, the messages behind are left as they are, to be given again: so many as are `left` are in
    `messages` already, and librdkafka is asked once there are none.
    """
    limit = min(len(messages), len(partitions), len(events))
    counts[:TAKEN] = 0
    arrived = min(left, limit)
    if arrived == 0:
        arrived = _consume(np.uint64(queue), np.int32(0), messages.ctypes.data, np.uint64(limit))
        if arrived < 0:
            return False
        counts[TAKEN] += arrived
    counts[READ] = counts[ARRIVED] = arrived
    records = 0
    for place in range(arrived):
        if counts[KEY_BYTES] + counts[VALUE_BYTES] >= most:
            counts[READ] = place
            break
        message = messages[place]
        error = _half_field(message, MESSAGE_ERROR)
        if error != 0:
            event = counts[EVENTS]
            events[event, EVENT_ERROR] = error
            events[event, EVENT_PARTITION] = _half_field(message, MESSAGE_PARTITION)
            events[event, EVENT_OFFSET] = _field(message, MESSAGE_OFFSET)
            events[event, EVENT_HAS_TOPIC] = _field(message, MESSAGE_TOPIC) != 0
            counts[EVENTS] += 1
            _free(messages, place, counts)
            continue
        messages[place] = 0
        messages[records] = message
        partitions[records] = _half_field(message, MESSAGE_PARTITION)
        if records > 0 and partitions[records] != partitions[records - 1]:
            counts[TURNS] += 1
        counts[KEY_BYTES] += max(0, _length(message, MESSAGE_KEY, MESSAGE_KEY_LENGTH))
        counts[VALUE_BYTES] += max(0, _length(message, MESSAGE_VALUE, MESSAGE_VALUE_LENGTH))
        records += 1
    counts[RECORDS] = records
    return True


@entry_point
def copy(
    messages: Addresses,
    order: Integers,
    known: Integers,
    keys: Bytes,
    values: Bytes,
    counts: Integers,
) -> bool:
    """Copy records in this order and free them; return False where something does not fit."""
    key_end = value_end = 0
    for row in range(min(len(order), known.shape[1])):
        place = order[row]
        if not 0 <= place < len(messages) or messages[place] == 0:
            return False
        message = messages[place]
        key_length = _length(message, MESSAGE_KEY, MESSAGE_KEY_LENGTH)
        value_length = _length(message, MESSAGE_VALUE, MESSAGE_VALUE_LENGTH)
        known[OFFSET, row] = _field(message, MESSAGE_OFFSET)
        known[TIMESTAMP, row] = _timestamp(message, np.uint64(0))
        known[KEY_BEGIN, row] = key_end
        known[KEY_LENGTH, row] = key_length
        known[VALUE_BEGIN, row] = value_end
        known[VALUE_LENGTH, row] = value_length
        if key_length > len(keys) - key_end or value_length > len(values) - value_end:
            return False
        if min(key_length, value_length) < NONE:
            return False
        if key_length > 0:
            key = np.uint64(_field(message, MESSAGE_KEY))
            copied(keys.ctypes.data + np.uint64(key_end), key, np.uint64(key_length))
            key_end += key_length
        if value_length > 0:
            value = np.uint64(_field(message, MESSAGE_VALUE))
            copied(values.ctypes.data + np.uint64(value_end), value, np.uint64(value_length))
            value_end += value_length
        _free(messages, place, counts)
    return True


@part
def _length(message: int, pointer: int, length: int) -> int:
    return NONE if _field(message, pointer) == 0 else _field(message, length)


@entry_point
def free(messages: Addresses, counts: Integers) -> None:
    """Free what is left of messages."""
    for place in range(len(messages)):
        _free(messages, place, counts)


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
