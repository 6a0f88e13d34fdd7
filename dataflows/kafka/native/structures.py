"""Declare the structures that librdkafka shares with its callers, as `rdkafka.h` does.

Compiled code reads a structure as an array of words of eight bytes, by the places that are named
here. The self-test compares all of this with the library that is really there.
"""

import ctypes

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
