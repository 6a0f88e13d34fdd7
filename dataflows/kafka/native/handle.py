"""Make a producer or a consumer of librdkafka, and end it."""

import ctypes
from typing import Any

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.native.library import ERROR_SIZE, library, name_of
from fugu.dataflows.kafka.native.settings import Settings
from fugu.dataflows.kafka.native.structures import (
    CONSUMER,
    EVENT_DELIVERY_REPORTS,
    EVENT_ERROR,
    PRODUCER,
)


def consumer_of(settings: Settings) -> int:
    """Return a consumer; its errors are events of its main queue."""
    return _made(CONSUMER, settings, EVENT_ERROR)


def producer_of(settings: Settings) -> int:
    """Return a producer; its delivery reports and errors are events of its main queue."""
    return _made(PRODUCER, settings, EVENT_DELIVERY_REPORTS | EVENT_ERROR)


def _made(kind: int, settings: Settings, events: int) -> int:
    calls, text = library(), ctypes.create_string_buffer(ERROR_SIZE)
    configuration = calls.rd_kafka_conf_new()
    # What librdkafka says may repeat what it was given; what a person should know is an error.
    calls.rd_kafka_conf_set_log_cb(configuration, None)
    calls.rd_kafka_conf_set_events(configuration, events)
    for name, value in settings.items():
        written = _written(value)
        if calls.rd_kafka_conf_set(configuration, name.encode(), written, text, len(text)):
            calls.rd_kafka_conf_destroy(configuration)
            raise KafkaUnavailable(
                f"librdkafka does not take the setting {name}. If kafka.settings chooses it, write "
                "another value there. Otherwise install the version of confluent-kafka that "
                "fugu-streams[fast] asks for, or write kafka.client: kafka-python"
            )
    made = calls.rd_kafka_new(kind, configuration, text, len(text))
    if not made:
        reason = name_of(calls.rd_kafka_last_error())
        calls.rd_kafka_conf_destroy(configuration)
        raise KafkaUnavailable(
            f"librdkafka cannot be started with these settings ({reason}). Check kafka.settings "
            "and kafka.security in the pipeline file, and that this user may read the files that "
            "it names."
        )
    return int(made)


def _written(value: Any) -> bytes:
    return (str(value).lower() if isinstance(value, bool) else str(value)).encode()
