"""Take messages out of librdkafka: records into columns, and what came in place of records.

`take` asks for messages and measures them, the caller makes room, and `copy` fills it. Each message
is freed exactly once: what is counted says so.
"""

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.columns import NONE
from fugu.dataflows.kafka.native.library import compiled
from fugu.dataflows.kafka.native.memory import copied, half_word_at, word_at
from fugu.dataflows.kafka.native.structures import (
    MESSAGE_ERROR,
    MESSAGE_KEY,
    MESSAGE_KEY_LENGTH,
    MESSAGE_OFFSET,
    MESSAGE_PARTITION,
    MESSAGE_TOPIC,
    MESSAGE_VALUE,
    MESSAGE_VALUE_LENGTH,
    WORD,
)
from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import entry_point, inlined, part
from fugu.operators.mechanism import Integers

Addresses = NDArray[np.uint64]

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
