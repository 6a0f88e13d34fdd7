"""Warn now and then about a Kafka that no longer lets a running pipeline in."""

import logging
import time

from confluent_kafka import KafkaError

from fugu.dataflows.kafka.native.library import library, name_of
from fugu.dataflows.kafka.native.structures import EVENT_ERROR

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
