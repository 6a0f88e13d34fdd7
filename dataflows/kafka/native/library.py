"""Find the librdkafka that confluent-kafka carries, and declare the functions of it that are used.

Each is declared once, in the terms of `rdkafka.h`, for Python (`library`) and for compiled code
(`compiled`). Who loads it gets `OSError` or `ImportError` where there is none.
"""

import ctypes
from collections.abc import Callable
from ctypes import c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
from numba import types

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
