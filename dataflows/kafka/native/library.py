"""Find the librdkafka that confluent-kafka carries, and declare what is used of it.

Each function is declared once, in the terms of `rdkafka.h`, for Python (`library`) and for compiled
code (`compiled`). Whoever loads it gets `OSError` or `ImportError` where there is none.
"""

import ctypes
import logging
import time
from collections.abc import Callable
from ctypes import c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
from confluent_kafka import KafkaError
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

# Who calls these has proved that what they reach is there.

Generated = tuple[Any, Callable[..., Any]]

_copying: Any = cgutils.raw_memcpy


def _inserted(generate: Callable[..., Generated]) -> Any:
    """Make a function of which compiled code gets the instructions."""
    return intrinsic(generate)


@_inserted
def word_at(context: Any, address: Any) -> Generated:
    """Read eight bytes, as an integer."""
    return types.int64(types.uint64), _loading(64)


@_inserted
def half_word_at(context: Any, address: Any) -> Generated:
    """Read four bytes, as an integer."""
    return types.int32(types.uint64), _loading(32)


@_inserted
def byte_at(context: Any, address: Any) -> Generated:
    """Read one byte."""
    return types.uint8(types.uint64), _loading(8)


@_inserted
def set_word_at(context: Any, address: Any, word: Any) -> Generated:
    """Write eight bytes, at an address that is a multiple of eight: nobody reads half of it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.uint64, types.int64), generate


@_inserted
def copied(context: Any, target: Any, source: Any, length: Any) -> Generated:
    """Copy bytes from one place to another; the two do not overlap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        target, source = (builder.inttoptr(place, byte) for place in arguments[:2])
        _copying(builder, target, source, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.uint64), generate


def _loading(bits: int) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
        return builder.load(pointer, align=1)

    return generate


# Compiled code reads a structure as an array of words of eight bytes, by the places that are named
# here. The self-test compares all of this with the library that is really there.


WORD = 8
"""Bytes of a pointer, a size and an offset."""


class Message(ctypes.Structure):
    """Declare `rd_kafka_message_t`: a record, an error in its place, or a delivery report."""

    _fields_ = (
        ("error", ctypes.c_int32),
        ("topic", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("value", ctypes.c_void_p),
        ("value_length", ctypes.c_size_t),
        ("key", ctypes.c_void_p),
        ("key_length", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("opaque", ctypes.c_void_p),
    )


MESSAGE_ERROR = Message.error.offset // WORD
MESSAGE_TOPIC = Message.topic.offset // WORD
MESSAGE_PARTITION = Message.partition.offset // WORD
MESSAGE_VALUE = Message.value.offset // WORD
MESSAGE_VALUE_LENGTH = Message.value_length.offset // WORD
MESSAGE_KEY = Message.key.offset // WORD
MESSAGE_KEY_LENGTH = Message.key_length.offset // WORD
MESSAGE_OFFSET = Message.offset.offset // WORD
MESSAGE_OPAQUE = Message.opaque.offset // WORD
"""The error and the partition are the lower four bytes of their words; the rest is not set."""


class Argument(ctypes.Structure):
    """Declare `rd_kafka_vu_t`: one argument of `rd_kafka_produceva`, up to three words."""

    _fields_ = (
        ("kind", ctypes.c_int32),
        ("words", ctypes.c_int64 * 8),
    )


ARGUMENT_WORDS = ctypes.sizeof(Argument) // WORD
ARGUMENT_KIND = Argument.kind.offset // WORD
ARGUMENT_CONTENT = Argument.words.offset // WORD

(
    KIND_END,
    KIND_TOPIC_NAME,
    KIND_TOPIC,
    KIND_PARTITION,
    KIND_VALUE,
    KIND_KEY,
    KIND_OPAQUE,
    KIND_FLAGS,
    KIND_TIMESTAMP,
    KIND_HEADER,
    KIND_HEADERS,
) = range(11)
"""Kinds of arguments: a value and a key are (pointer, size), a header (name, pointer, size)."""

FLAG_COPY = 2
"""librdkafka copies value and key before the call returns."""


class TopicPartition(ctypes.Structure):
    """Declare `rd_kafka_topic_partition_t`."""

    _fields_ = (
        ("topic", ctypes.c_char_p),
        ("partition", ctypes.c_int32),
        ("offset", ctypes.c_int64),
        ("metadata", ctypes.c_void_p),
        ("metadata_size", ctypes.c_size_t),
        ("opaque", ctypes.c_void_p),
        ("error", ctypes.c_int32),
        ("private", ctypes.c_void_p),
    )


class TopicPartitions(ctypes.Structure):
    """Declare `rd_kafka_topic_partition_list_t`."""

    _fields_ = (
        ("count", ctypes.c_int),
        ("size", ctypes.c_int),
        ("elements", ctypes.POINTER(TopicPartition)),
    )


PRODUCER, CONSUMER = 0, 1
"""Kinds of clients that `rd_kafka_new` makes."""

EVENT_DELIVERY_REPORTS, EVENT_ERROR = 1, 8

PURGE_QUEUE, PURGE_IN_FLIGHT = 1, 2

Type = Any
"""A type of ctypes, or None for what returns nothing."""

ERROR_SIZE = 512
"""Bytes that librdkafka may fill with the text of an error."""

_FUNCTIONS: dict[str, tuple[Type, tuple[Type, ...]]] = {
    "rd_kafka_version": (c_int, ()),
    "rd_kafka_version_str": (c_char_p, ()),
    # making and ending
    "rd_kafka_conf_new": (c_void_p, ()),
    "rd_kafka_conf_destroy": (None, (c_void_p,)),
    "rd_kafka_conf_set": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p, c_size_t)),
    "rd_kafka_conf_set_events": (None, (c_void_p, c_int)),
    "rd_kafka_conf_set_log_cb": (None, (c_void_p, c_void_p)),
    "rd_kafka_new": (c_void_p, (c_int, c_void_p, c_char_p, c_size_t)),
    "rd_kafka_destroy": (None, (c_void_p,)),
    "rd_kafka_fatal_error": (c_int32, (c_void_p, c_char_p, c_size_t)),
    # errors
    "rd_kafka_last_error": (c_int32, ()),
    "rd_kafka_err2name": (c_char_p, (c_int32,)),
    "rd_kafka_error_code": (c_int32, (c_void_p,)),
    "rd_kafka_error_is_retriable": (c_int, (c_void_p,)),
    "rd_kafka_error_destroy": (None, (c_void_p,)),
    # queues and events
    "rd_kafka_queue_get_main": (c_void_p, (c_void_p,)),
    "rd_kafka_queue_get_consumer": (c_void_p, (c_void_p,)),
    "rd_kafka_queue_poll": (c_void_p, (c_void_p, c_int)),
    "rd_kafka_queue_yield": (None, (c_void_p,)),
    "rd_kafka_queue_destroy": (None, (c_void_p,)),
    "rd_kafka_event_type": (c_int, (c_void_p,)),
    "rd_kafka_event_error": (c_int32, (c_void_p,)),
    "rd_kafka_event_message_next": (c_void_p, (c_void_p,)),
    "rd_kafka_event_destroy": (None, (c_void_p,)),
    # reading
    "rd_kafka_topic_partition_list_new": (c_void_p, (c_int,)),
    "rd_kafka_topic_partition_list_add": (c_void_p, (c_void_p, c_char_p, c_int32)),
    "rd_kafka_topic_partition_list_destroy": (None, (c_void_p,)),
    "rd_kafka_topic_partition_get_leader_epoch": (c_int32, (c_void_p,)),
    "rd_kafka_topic_partition_set_leader_epoch": (None, (c_void_p, c_int32)),
    "rd_kafka_assign": (c_int32, (c_void_p, c_void_p)),
    "rd_kafka_position": (c_int32, (c_void_p, c_void_p)),
    "rd_kafka_query_watermark_offsets": (
        c_int32,
        (c_void_p, c_char_p, c_int32, c_void_p, c_void_p, c_int),
    ),
    "rd_kafka_consumer_close": (c_int32, (c_void_p,)),
    "rd_kafka_consume_batch_queue": (c_int64, (c_void_p, c_int, c_void_p, c_size_t)),
    "rd_kafka_message_timestamp": (c_int64, (c_void_p, c_void_p)),
    "rd_kafka_message_headers": (c_int32, (c_void_p, c_void_p)),
    "rd_kafka_message_destroy": (None, (c_void_p,)),
    "rd_kafka_header_cnt": (c_size_t, (c_void_p,)),
    "rd_kafka_header_get_all": (c_int32, (c_void_p, c_size_t, c_void_p, c_void_p, c_void_p)),
    # writing
    "rd_kafka_topic_new": (c_void_p, (c_void_p, c_char_p, c_void_p)),
    "rd_kafka_topic_destroy": (None, (c_void_p,)),
    "rd_kafka_produceva": (c_void_p, (c_void_p, c_void_p, c_size_t)),
    "rd_kafka_headers_new": (c_void_p, (c_size_t,)),
    "rd_kafka_headers_destroy": (None, (c_void_p,)),
    "rd_kafka_header_add": (
        c_int32,
        (c_void_p, c_void_p, c_int64, c_void_p, c_int64),
    ),
    "rd_kafka_outq_len": (c_int, (c_void_p,)),
    "rd_kafka_flush": (c_int32, (c_void_p, c_int)),
    "rd_kafka_purge": (c_int32, (c_void_p, c_int)),
    "rd_kafka_init_transactions": (c_void_p, (c_void_p, c_int)),
    "rd_kafka_begin_transaction": (c_void_p, (c_void_p,)),
    "rd_kafka_consumer_group_metadata_read": (c_void_p, (c_void_p, c_void_p, c_size_t)),
    "rd_kafka_consumer_group_metadata_destroy": (None, (c_void_p,)),
    "rd_kafka_send_offsets_to_transaction": (c_void_p, (c_void_p, c_void_p, c_void_p, c_int)),
    "rd_kafka_commit_transaction": (c_void_p, (c_void_p, c_int)),
    "rd_kafka_abort_transaction": (c_void_p, (c_void_p, c_int)),
    # a cluster in this process, for the self-test and for tests
    "rd_kafka_mock_cluster_new": (c_void_p, (c_void_p, c_int)),
    "rd_kafka_mock_cluster_destroy": (None, (c_void_p,)),
    "rd_kafka_mock_cluster_bootstraps": (c_char_p, (c_void_p,)),
    "rd_kafka_mock_topic_create": (c_int32, (c_void_p, c_char_p, c_int, c_int)),
}

_COMPILED_TYPES: dict[Type, Any] = {
    None: types.void,
    c_int: types.int32,
    c_int32: types.int32,
    c_int64: types.int64,
    c_size_t: types.int64,
    c_void_p: types.uint64,
    c_char_p: types.uint64,
}


@cache
def library() -> Any:
    """Return the library, whose functions are called by their names."""
    import confluent_kafka.cimpl

    # A library looks for functions in those it depends on, wherever they lie.
    loaded = ctypes.CDLL(confluent_kafka.cimpl.__file__)
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def compiled(name: str) -> Any:
    """Return a function for compiled code, where pointers are integers without a sign."""
    result, arguments = _FUNCTIONS[name]
    llvmlite.binding.add_symbol(name, _address(name))
    signature = _COMPILED_TYPES[result](*(_COMPILED_TYPES[each] for each in arguments))
    return types.ExternalFunction(name, signature)


def version() -> str:
    """Return the version of the library."""
    return str(library().rd_kafka_version_str().decode())


def path() -> Path:
    """Return the file of the library."""

    class Found(ctypes.Structure):
        _fields_ = (
            ("file", c_char_p),
            ("base", c_void_p),
            ("symbol", c_char_p),
            ("address", c_void_p),
        )

    found = Found()
    look_up: Callable[..., int] = ctypes.CDLL(None).dladdr
    if not look_up(c_void_p(_address("rd_kafka_version")), ctypes.byref(found)):
        raise OSError("nobody knows the file of librdkafka")
    return Path(found.file.decode())


def name_of(error: int) -> str:
    """Return librdkafka's name of an error."""
    return str(library().rd_kafka_err2name(error).decode())


def _address(name: str) -> int:
    return int(ctypes.cast(getattr(library(), name), c_void_p).value or 0)


_WARNING_SECONDS = 60.0
_WORTH_SAYING = {KafkaError._AUTHENTICATION, KafkaError._SSL}
"""A password may be changed, or a certificate expire, under a running pipeline."""

log = logging.getLogger(__name__)


class LoginTroubles:
    """Say that Kafka does not let us in, and say it rarely."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._next_warning = 0.0

    def heard(self, error: int) -> None:
        """Take an error that librdkafka tells besides what it was asked."""
        if error in _WORTH_SAYING and time.monotonic() >= self._next_warning:
            self._next_warning = time.monotonic() + _WARNING_SECONDS
            log.warning(
                "Kafka at %s does not let us in (%s). Trying again.",
                self._bootstrap,
                name_of(error),
            )

    def listen(self, queue: int) -> None:
        """Take all errors out of a queue, without waiting."""
        calls = library()
        while event := calls.rd_kafka_queue_poll(queue, 0):
            if calls.rd_kafka_event_type(event) == EVENT_ERROR:
                self.heard(calls.rd_kafka_event_error(event))
            calls.rd_kafka_event_destroy(event)
