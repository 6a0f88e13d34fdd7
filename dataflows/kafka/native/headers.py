"""Read the headers of messages, before those are freed."""

from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import Header
from fugu.dataflows.base.columns import NONE, OptionalByteColumn
from fugu.dataflows.kafka.native.library import compiled
from fugu.dataflows.kafka.native.memory import byte_at, copied
from fugu.dataflows.kafka.native.structures import WORD
from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import entry_point, part
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
    pairs = list(zip(_column(names, name_lengths), _column(values, value_lengths), strict=True))
    bounds = pairwise(accumulate(counts.tolist(), initial=0))
    return [_readable(pairs[begin:end]) for begin, end in bounds]


def _readable(pairs: list[tuple[bytes | None, bytes | None]]) -> list[Header]:
    """Return headers, so that no producer stops the pipeline with what is no text."""
    try:
        return [((name or b"").decode(), value) for name, value in pairs]  # type: ignore[misc]
    except UnicodeDecodeError:
        return []


def _column(content: Bytes, lengths: Integers) -> OptionalByteColumn:
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
