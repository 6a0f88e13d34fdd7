"""Hand records to librdkafka in one compiled call."""

from typing import NamedTuple

import numpy as np

from fugu.dataflows.kafka.native.library import compiled
from fugu.dataflows.kafka.native.outgoing_table import (
    HEADERS,
    KEY,
    KEY_LENGTH,
    TIMESTAMP,
    VALUE,
    VALUE_LENGTH,
    OutgoingTable,
)
from fugu.dataflows.kafka.native.structures import (
    ARGUMENT_CONTENT,
    ARGUMENT_KIND,
    ARGUMENT_WORDS,
    FLAG_COPY,
    KIND_FLAGS,
    KIND_HEADERS,
    KIND_KEY,
    KIND_OPAQUE,
    KIND_PARTITION,
    KIND_TIMESTAMP,
    KIND_TOPIC,
    KIND_VALUE,
)
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Integers

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
