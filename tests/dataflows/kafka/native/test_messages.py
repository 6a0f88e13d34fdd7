"""Take out of librdkafka what was sent, and free every message exactly once."""

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.columns import HeaderColumns, OptionalByteColumn
from fugu.dataflows.kafka.native import messages as messages_module
from fugu.dataflows.kafka.native.library import Message
from fugu.dataflows.kafka.native.messages import COUNTS, FREED, RECORD_ROWS, Event, Messages, copy
from fugu.operators.columns import IntegerColumn
from tests.dataflows.kafka.native.filled_topics import Record, Topics, records_of, until

CONTENT = st.none() | st.binary(max_size=70)
HEADERS = st.lists(st.tuples(st.text("abcß", max_size=3), st.binary(max_size=20)), max_size=3)
RECORDS = st.lists(st.tuples(st.integers(1, 2**47), CONTENT, CONTENT, HEADERS), max_size=12)


def taken(
    messages: Messages, records: int, limit: int = 1_000, *, with_headers: bool = True
) -> list[Batch]:
    """Take until this many records came; nothing is held in between."""
    batches: list[Batch] = []

    def are_there() -> bool:
        some, _ = messages.take(limit, with_headers=with_headers)
        assert messages.held == 0
        assert sum(len(batch.offsets) for batch in some) <= limit
        batches.extend(some)
        return sum(len(batch.offsets) for batch in batches) >= records

    until(are_there)
    return batches


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(RECORDS, RECORDS, st.integers(1, 5))
def test_records_come_out_as_they_went_in(
    topics: Topics, first: list[Record], second: list[Record], limit: int
) -> None:
    topic, written = topics.new(2), {0: first, 1: second}
    for partition, records in written.items():
        topics.hold(topic, records, partition)
    with topics.taking(topic, 0, 1) as messages:
        batches = taken(messages, len(first) + len(second), limit)
    for partition, records in written.items():
        own = [batch for batch in batches if batch.partition == partition]
        assert records_of(own) == records
        assert [o for batch in own for o in batch.offsets] == list(range(len(records)))


def test_large_records_come_some_at_a_time_and_are_freed_where_nobody_takes_them(
    topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages_module, "_MOST_BYTES", 250)
    topic = topics.new()
    topics.hold(topic, [(1, b"%d" % number, bytes(99), []) for number in range(20)])
    with topics.taking(topic, 0) as messages:
        sizes, keys = list[int](), list[bytes | None]()

        def some() -> bool:
            for batch in messages.take(4, with_headers=True)[0]:
                sizes.append(len(batch.offsets))
                keys.extend(batch.keys)
            return len(keys) >= 10

        until(some)
        messages.drop()
        assert messages.held == 0
    assert keys == [b"%d" % number for number in range(len(keys))]
    assert set(sizes) <= {1, 3}


def test_columns_are_arrays_and_each_batch_has_bytes_of_its_own(topics: Topics) -> None:
    topic = topics.new(2)
    for partition, key in enumerate((b"anna", b"ben")):
        topics.hold(topic, [(1, key, b"value", [])], partition)
    with topics.taking(topic, 0, 1) as messages:
        batches = taken(messages, 2)
    for batch in batches:
        assert isinstance(batch.offsets, IntegerColumn)
        assert isinstance(batch.timestamps, IntegerColumn)
        assert isinstance(batch.keys, OptionalByteColumn)
        assert isinstance(batch.values, OptionalByteColumn)
        assert batch.keys.content.tobytes() == (b"anna", b"ben")[batch.partition]
        assert batch.values.content.tobytes() == b"value"


def test_headers_that_nobody_asked_for_are_left_out(topics: Topics) -> None:
    topic = topics.new()
    topics.hold(topic, [(1, b"key", b"value", [("name", b"1")])])
    with topics.taking(topic) as messages:
        [batch] = taken(messages, 1, with_headers=False)
    assert isinstance(batch.headers, HeaderColumns)
    assert list(batch.headers) == [[]]


def test_a_large_record_is_taken_among_small_ones(topics: Topics) -> None:
    large = bytes(range(256)) * 3_900
    records: list[Record] = [
        (1, b"small", b"1", []),
        (2, b"large", large, [("large", large[:900])]),
        (3, b"small", b"3", []),
    ]
    topic = topics.new()
    topics.hold(topic, records)
    with topics.taking(topic) as messages:
        assert records_of(taken(messages, 3)) == records


def test_every_message_is_freed_once(topics: Topics) -> None:
    """Ends of partitions are messages, too."""
    topic, sizes, seen = topics.new(), [1, 500, 3, 2_000], 0
    with topics.taking(topic) as messages:
        for size in sizes:
            topics.hold(topic, [(1, b"key", b"%d" % number, []) for number in range(size)])
            came = 0
            while came < size:
                batches, events = messages.take(700, with_headers=True)
                came += sum(len(batch.offsets) for batch in batches)
                seen += sum(len(batch.offsets) for batch in batches) + len(events)
                assert (messages.freed, messages.held) == (seen, 0)
    assert seen >= sum(sizes)


def test_messages_are_freed_where_something_fails_while_they_are_held(
    topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = topics.new()
    topics.hold(topic, [(1, b"key", b"value", [])] * 5)

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(messages_module, "read_headers", fail)
    with topics.taking(topic) as messages:
        with pytest.raises(MemoryError):
            taken(messages, 5)
        assert messages.freed >= 1
        assert messages.held == 0


def test_the_end_of_a_partition_is_an_event(topics: Topics) -> None:
    topic = topics.new()
    events: list[Event] = []

    def has_come() -> bool:
        events.extend(messages.take(9, with_headers=True)[1])
        return bool(events)

    with topics.taking(topic) as messages:
        until(has_come)
        assert (messages.freed, messages.held) == (1, 0)
    [end] = events
    assert (end.partition, end.offset, bool(end.has_topic)) == (0, 0, True)


# Compiled code writes nowhere but into the room that it was given.


KEY, VALUE = b"k" * 40, b"v" * 70
GUARD = 64


def fabricated(key: bytes, value: bytes) -> tuple[Message, Any]:
    room = ctypes.create_string_buffer(key), ctypes.create_string_buffer(value)
    addresses = [ctypes.addressof(part) for part in room]
    message = Message(
        key=addresses[0], key_length=len(key), value=addresses[1], value_length=len(value)
    )
    return message, room


@pytest.mark.parametrize(
    ("key_room", "value_room"),
    [(len(KEY) - 1, len(VALUE)), (len(KEY), len(VALUE) - 1), (0, 0), (len(KEY), 0)],
)
def test_a_message_that_does_not_fit_is_not_copied(key_room: int, value_room: int) -> None:
    message, _kept = fabricated(KEY, VALUE)
    around = [np.full(room + 2 * GUARD, 7, dtype=np.uint8) for room in (key_room, value_room)]
    keys, values = (each[GUARD:-GUARD] for each in around)
    counts = np.zeros(COUNTS, dtype=np.int64)
    messages = np.array([ctypes.addressof(message)], dtype=np.uint64)
    known = np.zeros((RECORD_ROWS, 1), dtype=np.int64)
    assert not copy(messages, np.zeros(1, dtype=np.int64), known, keys, values, counts)
    assert all((each == 7).all() for each in around)
    assert counts[FREED] == 0


@pytest.mark.parametrize("place", [-1, 1, 2**40])
def test_a_place_where_no_message_is_is_not_read(place: int) -> None:
    message, _kept = fabricated(KEY, VALUE)
    messages = np.array([ctypes.addressof(message)], dtype=np.uint64)
    room = np.zeros(1_000, dtype=np.uint8)
    counts, order = np.zeros(COUNTS, dtype=np.int64), np.array([place], dtype=np.int64)
    known = np.zeros((RECORD_ROWS, 1), dtype=np.int64)
    assert not copy(messages, order, known, room, room.copy(), counts)


def test_a_message_that_is_freed_is_not_read_again() -> None:
    messages, order = np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.int64)
    room = np.zeros(1_000, dtype=np.uint8)
    counts, known = np.zeros(COUNTS, dtype=np.int64), np.zeros((RECORD_ROWS, 1), dtype=np.int64)
    assert not copy(messages, order, known, room, room.copy(), counts)
    assert counts[FREED] == 0
