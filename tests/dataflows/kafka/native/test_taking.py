"""Compiled code writes nowhere but into the room that it was given."""

import ctypes
from typing import Any

import numpy as np
import pytest

from fugu.dataflows.kafka.native.structures import Message
from fugu.dataflows.kafka.native.taking import COUNTS, FREED, RECORD_ROWS, copy

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
