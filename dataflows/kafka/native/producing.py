"""Hand records to librdkafka in one compiled call, and take its reports about them."""

import atexit
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby
from threading import RLock, Thread
from typing import NamedTuple
from weakref import WeakSet

import numpy as np

from fugu.dataflows.base.batches import Header, Outgoing
from fugu.dataflows.base.columns import NONE, HeaderColumns, OptionalByteColumn
from fugu.dataflows.kafka.native.library import (
    ARGUMENT_CONTENT,
    ARGUMENT_KIND,
    ARGUMENT_WORDS,
    EVENT_DELIVERY_REPORTS,
    EVENT_ERROR,
    FLAG_COPY,
    KIND_FLAGS,
    KIND_HEADERS,
    KIND_KEY,
    KIND_OPAQUE,
    KIND_PARTITION,
    KIND_TIMESTAMP,
    KIND_TOPIC,
    KIND_VALUE,
    MESSAGE_ERROR,
    MESSAGE_OFFSET,
    MESSAGE_OPAQUE,
    WORD,
    LoginTroubles,
    compiled,
    half_word_at,
    library,
    set_word_at,
    word_at,
)
from fugu.operators.columns import ByteColumn, Bytes, bytes_of, column_of
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Integers

Content = ByteColumn | OptionalByteColumn | bytes
"""Strings, one or more for each record, or one for all records."""

_Run = tuple[int, tuple[str, ...], list[tuple[int, ByteColumn | bytes]]]
"""Its end, the names and contents of headers, how many a record has, and which ones."""

VALUE, VALUE_LENGTH, KEY, KEY_LENGTH, TIMESTAMP, HEADERS = range(6)
"""Columns of a table. From `HEADERS` on there are two for each header: place and length."""

_MOST_NAMES = 64


class OutgoingTable(NamedTuple):
    """Hold where records lie, and what keeps them there.

    A row says where value, key and headers of a record lie in memory, and how long they are. The
    names of headers are the same in all rows: records whose headers have other names are in another
    table.

    `names` has a row for each header: place and length of its name. A key or value that is none
    is at 0.
    """

    words: Integers
    names: Integers
    kept: list[Bytes]


def tables_of(outgoing: Outgoing) -> Iterator[OutgoingTable]:
    """Yield tables of consecutive records, until all are in one."""
    count = len(outgoing.values)
    others = outgoing.keys, outgoing.timestamps, outgoing.headers
    if any(len(column) != count for column in others):
        raise ValueError("the columns of what goes out differ in length")
    keys = OptionalByteColumn.of(outgoing.keys)
    values: ByteColumn | OptionalByteColumn  # only who means it hands over a column with gaps
    if isinstance(outgoing.values, OptionalByteColumn):
        values = outgoing.values
    else:
        values = ByteColumn.of(outgoing.values)
    timestamps = column_of(outgoing.timestamps)
    begin = 0
    for end, names, contents in _with_same_names(outgoing.headers):
        words = np.empty((end - begin, HEADERS + 2 * len(names)), dtype=np.int64)
        words[:, TIMESTAMP] = timestamps[begin:end]
        name_words, name_content = _places_of(names)
        kept = [name_content]
        kept.append(_put(words, VALUE, 1, values[begin:end]))
        kept.append(_put(words, KEY, 1, keys[begin:end]))
        column = HEADERS
        for width, content in contents:
            kept.append(_put(words, column, width, content))
            column += 2 * width
        yield OutgoingTable(words, name_words, kept)
        begin = end


def _with_same_names(headers: Sequence[list[Header]]) -> Iterator[_Run]:
    """Yield the ends of runs of records whose headers have the same names, and what is in them."""
    if isinstance(headers, HeaderColumns):
        yield len(headers), tuple(headers.contents), [(1, c) for c in headers.contents.values()]
        return
    names = _names_of(headers[0])
    flat = list(chain.from_iterable(headers))
    alike = set(map(len, headers)) == {len(names)} and _names_of(flat) == names * len(headers)
    end = 0
    for run_names, run in [(names, headers)] if alike else groupby(headers, _names_of):
        rows = list(run)
        end += len(rows)
        contents = ByteColumn.of([content for _, content in chain.from_iterable(rows)])
        yield end, run_names, [(len(run_names), contents)]


def _names_of(headers: list[Header]) -> tuple[str, ...]:
    return tuple([name for name, _ in headers])


@lru_cache(maxsize=_MOST_NAMES)
def _places_of(names: tuple[str, ...]) -> tuple[Integers, Bytes]:
    words = np.empty((len(names), 2), dtype=np.int64)
    return words, _put(words, 0, 1, ByteColumn.of([name.encode() for name in names]))


def _put(words: Integers, column: int, width: int, strings: Content) -> Bytes:
    """Write where strings lie, some to each row; return what they lie in."""
    if isinstance(strings, bytes):
        content = bytes_of(strings)
        words[:, column], words[:, column + 1] = content.ctypes.data, len(content)
        return content
    content = np.ascontiguousarray(strings.content)
    begins, lengths = _read_only(strings.begins), _read_only(strings.lengths)
    place, may_be_none = content.ctypes.data, isinstance(strings, OptionalByteColumn)
    where = words, column, width, place, len(content)
    if not _put_columns(*where, begins, lengths, may_be_none):
        raise ValueError("a string of what goes out does not lie in its column")
    return content


def _read_only(integers: Integers) -> Integers:
    """Return one kind of array, so that code is compiled for one kind only."""
    view = np.ascontiguousarray(integers, dtype=np.int64).view()
    view.flags.writeable = False
    return view


@entry_point
def _put_columns(
    words: Integers,
    column: int,
    width: int,
    address: int,
    size: int,
    begins: Integers,
    lengths: Integers,
    may_be_none: bool,
) -> bool:
    count = len(words) * width
    if len(begins) != count or len(lengths) != count or column + 2 * width > words.shape[1]:
        return False
    for number in range(count):
        begin, length = begins[number], lengths[number]
        row, at = number // width, column + 2 * (number % width)
        if may_be_none and length == NONE:
            words[row, at] = words[row, at + 1] = 0
        elif 0 <= begin <= size and 0 <= length <= size - begin:
            words[row, at], words[row, at + 1] = address + begin, length
        else:
            return False
    return True


_produceva = compiled("rd_kafka_produceva")
_error_code = compiled("rd_kafka_error_code")
_error_destroy = compiled("rd_kafka_error_destroy")
_headers_new = compiled("rd_kafka_headers_new")
_header_add = compiled("rd_kafka_header_add")
_headers_destroy = compiled("rd_kafka_headers_destroy")

_TOPIC, _PARTITION, _FLAGS, _OPAQUE, _VALUE, _KEY, _TIMESTAMP, _HEADERS = range(8)
"""The order of arguments; the last one is left out where there are no headers."""

_ARGUMENTS = 8
_SIZE = ARGUMENT_CONTENT + 1


class Destination(NamedTuple):
    """Name a partition: handles of librdkafka, and the address that its reports come with."""

    producer: int
    topic: int
    partition: int
    opaque: int


def produce(destination: Destination, table: OutgoingTable, first: int) -> tuple[int, int]:
    """Hand over the records from the first on.

    Return the number of the first one that librdkafka did not take, and its reason: 0 if it took
    all. librdkafka copies what it takes.
    """
    arguments = np.zeros((_ARGUMENTS, ARGUMENT_WORDS), dtype=np.int64)
    return _produce(*destination, arguments, table.words, table.names, first)


@entry_point
def _produce(
    producer: int,
    topic: int,
    partition: int,
    opaque: int,
    arguments: Integers,
    words: Integers,
    names: Integers,
    first: int,
) -> tuple[int, int]:
    _fill(arguments, _TOPIC, KIND_TOPIC, topic)
    _fill(arguments, _PARTITION, KIND_PARTITION, partition)
    _fill(arguments, _FLAGS, KIND_FLAGS, FLAG_COPY)
    _fill(arguments, _OPAQUE, KIND_OPAQUE, opaque)
    count = _HEADERS if len(names) == 0 else _HEADERS + 1
    for row in range(first, len(words)):
        _fill(arguments, _VALUE, KIND_VALUE, words[row, VALUE])
        arguments[_VALUE, _SIZE] = words[row, VALUE_LENGTH]
        _fill(arguments, _KEY, KIND_KEY, words[row, KEY])
        arguments[_KEY, _SIZE] = words[row, KEY_LENGTH]
        _fill(arguments, _TIMESTAMP, KIND_TIMESTAMP, words[row, TIMESTAMP])
        headers = np.uint64(0)
        if count > _HEADERS:
            headers = _headers_new(np.uint64(len(names)))
            for number in range(len(names)):
                at = HEADERS + 2 * number
                name, length = np.uint64(names[number, 0]), names[number, 1]
                _header_add(headers, name, length, np.uint64(words[row, at]), words[row, at + 1])
            _fill(arguments, _HEADERS, KIND_HEADERS, int(headers))
        error = _produceva(np.uint64(producer), arguments.ctypes.data, np.uint64(count))
        if error != 0:
            if headers != 0:  # librdkafka owns headers of what it took only
                _headers_destroy(headers)
            code = _error_code(error)
            _error_destroy(error)
            return row, code
    return len(words), 0


@part
def _fill(arguments: Integers, place: int, kind: int, content: int) -> None:
    arguments[place, ARGUMENT_KIND] = kind
    arguments[place, ARGUMENT_CONTENT] = content


_poll = compiled("rd_kafka_queue_poll")
_event_type = compiled("rd_kafka_event_type")
_event_error = compiled("rd_kafka_event_error")
_event_destroy = compiled("rd_kafka_event_destroy")
_next_message = compiled("rd_kafka_event_message_next")

_WAIT_MILLISECONDS = 1_000
_JOIN_SECONDS = 5.0

_LEFT, _FAILURE = range(2)
_STATE = 2


class Reports:
    """Serve a producer until `end`, and destroy it then.

    Each record carries the address of a number, the acknowledged end of its partition: the thread
    writes there, and Python reads it when it wants to know.

    Every record is reported: with a report about errors only, the ends of partitions would not be
    known, and librdkafka frees a record on one of its own threads instead of this one.
    """

    def __init__(self, producer: int, troubles: LoginTroubles) -> None:
        self.producer = producer
        self._queue: int = library().rd_kafka_queue_get_main(producer)
        self._topics: dict[str, int] = {}
        self._ends: dict[tuple[str, int], Integers] = {}
        self._state = np.zeros(_STATE, dtype=np.int64)
        self._troubles = troubles
        self._leaving = RLock()
        self._destroys = False
        self._process = os.getpid()
        self._compile()
        self._thread = Thread(target=self._serve, name="reports", daemon=True)
        self._thread.start()
        _SERVING.add(self)

    def topic(self, name: str) -> int:
        """Return librdkafka's handle of a topic."""
        if name not in self._topics:
            self._topics[name] = library().rd_kafka_topic_new(self.producer, name.encode(), None)
        return self._topics[name]

    def place_of_end(self, topic: str, partition: int) -> int:
        """Return the address that records of a partition must carry."""
        end = self._ends.setdefault((topic, partition), np.zeros(1, dtype=np.int64))
        return int(end.ctypes.data)

    def acknowledged_end(self, topic: str, partition: int) -> int | None:
        """Return the offset after the last acknowledged record of a partition, if any."""
        end = self._ends.get((topic, partition))
        return None if end is None or not end[0] else int(end[0])

    @property
    def failure(self) -> int:
        """Return the error of the first record that was not written, 0 if there is none."""
        return int(self._state[_FAILURE])

    def forget_failure(self) -> None:
        """Take a failure for one of records that nobody wants any more."""
        self._state[_FAILURE] = 0

    def end(self) -> None:
        """Destroy the producer, without waiting for it; nobody may use it any more."""
        self._destroys = True
        self.leave()

    def leave(self) -> None:
        """Take no more reports, without waiting."""
        if os.getpid() != self._process:
            return  # after a fork, librdkafka's threads are not there
        with self._leaving:
            if not self._state[_LEFT]:
                self._state[_LEFT] = 1
                library().rd_kafka_queue_yield(self._queue)

    def join(self) -> None:
        """Wait for the thread."""
        self._thread.join(_JOIN_SECONDS)

    def _compile(self) -> None:
        """Compile what the thread runs before any report can wait for it."""
        _take_reports(self._queue, np.ones(_STATE, dtype=np.int64))

    def _serve(self) -> None:
        while error := _take_reports(self._queue, self._state):
            self._troubles.heard(error)
        with self._leaving:  # whoever said so is done with the queue
            pass
        if self._destroys:
            self._destroy()

    def _destroy(self) -> None:
        calls = library()
        calls.rd_kafka_queue_destroy(self._queue)
        for topic in self._topics.values():
            calls.rd_kafka_topic_destroy(topic)
        calls.rd_kafka_destroy(self.producer)


_SERVING: WeakSet[Reports] = WeakSet()


@atexit.register
def _leave_all() -> None:
    """End all threads before the interpreter does: compiled code cannot be cut off.

    Producers stay, since somebody may still use them; they end with the process.
    """
    serving = list(_SERVING)
    for reports in serving:
        reports.leave()
    for reports in serving:
        reports.join()


@entry_point
def _take_reports(queue: int, state: Integers) -> int:
    """Take reports; return an error that is none of a record, or 0 where nobody wants any more."""
    while state[_LEFT] == 0:
        event = _poll(np.uint64(queue), np.int32(_WAIT_MILLISECONDS))
        if event == 0:
            continue
        kind, error = _event_type(event), 0
        if kind == EVENT_DELIVERY_REPORTS:
            _note(event, state)
        elif kind == EVENT_ERROR:
            error = int(_event_error(event))
        _event_destroy(event)
        if error != 0:
            return error
    return 0


@part
def _note(event: int, state: Integers) -> None:
    """Note where partitions end, or the first failure."""
    while True:
        message = _next_message(event)
        if message == 0:
            return
        error = half_word_at(message + np.uint64(MESSAGE_ERROR * WORD))
        if error == 0:
            place = word_at(message + np.uint64(MESSAGE_OPAQUE * WORD))
            last = word_at(message + np.uint64(MESSAGE_OFFSET * WORD))
            move_end(np.uint64(place), last + 1)
        elif state[_FAILURE] == 0:
            state[_FAILURE] = error


@part
def move_end(place: np.uint64, end: int) -> None:
    """Move an end forward: reports can arrive in another order than their records were written."""
    if end > word_at(place):
        set_word_at(place, end)
