"""Reach Kafka with kafka-python, or say why that fails.

kafka-python tries again until its time is over, whatever the reason is, and then says no more than
that. It logs the reasons as exceptions, which are read here. A reason that waiting does not cure
ends the attempts early, so that a wrong password is not tried for long.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.base.logs import ALOUD
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.kafka_python_refusals import hangs_up, refusal

Made = TypeVar("Made")
_REACH_SECONDS = 15.0
_ATTEMPT_SECONDS = (1.0, 3.0, _REACH_SECONDS)
"""The last one takes what is left, and is announced."""
_WARNING_SECONDS = 60.0

log = logging.getLogger(__name__)


class Ears(logging.Handler):
    """Take what kafka-python logs off stderr, where it would repeat itself.

    Exceptions go to those who listen. While nobody does, a refusal becomes a warning now and then:
    a password may be changed, or a certificate expire, under a running pipeline.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.listeners: dict[int, list[BaseException]] = {}
        self.reached: Connection | None = None
        self._next_warning = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Pass on the exceptions that a record is about."""
        arguments = record.args if isinstance(record.args, tuple) else ()
        errors = [argument for argument in arguments if isinstance(argument, BaseException)]
        for listener in self.listeners.values():
            listener += errors
        if not self.listeners and self.reached is not None:
            self._warn(errors, self.reached)

    def _warn(self, errors: list[BaseException], connection: Connection) -> None:
        reason = _first_refusal(errors, connection)
        if reason is not None and time.monotonic() >= self._next_warning:
            self._next_warning = time.monotonic() + _WARNING_SECONDS
            log.warning("Kafka at %s %s Trying again.", connection.bootstrap, reason)


_ears = Ears()
_library_log = logging.getLogger("kafka")
_library_log.setLevel(logging.ERROR)
_library_log.propagate = False
_library_log.addHandler(_ears)


def reach(make: Callable[..., Made], connection: Connection, settings: Mapping[str, Any]) -> Made:
    """Return the client that `make` builds once Kafka answers; `KafkaUnavailable` says why not."""
    errors: list[BaseException] = []
    deadline = time.monotonic() + _REACH_SECONDS
    with _listening(errors):
        for attempt, seconds in enumerate(_ATTEMPT_SECONDS, start=1):
            patience = min(seconds, max(0.0, deadline - time.monotonic()))
            if attempt == len(_ATTEMPT_SECONDS) > 1:
                log.warning(
                    "Kafka at %s does not answer; waiting for it, for %.0f s more",
                    connection.bootstrap,
                    patience,
                    extra=ALOUD,
                )
            try:
                made = make(**settings, bootstrap_timeout_ms=int(patience * 1000))
                _ears.reached = connection
                return made
            except KafkaError as error:
                errors.append(error)
                may_come = isinstance(error, KafkaTimeoutError)
            if not may_come or _first_refusal(errors, connection) is not None:
                break
    raise _unavailable(connection, errors)


def sent_elsewhere(client: Any) -> str:
    """Say to which addresses Kafka sends its clients, which may be those that nobody reaches."""
    try:
        known = client._manager.cluster.brokers()
        addresses = sorted({f"{one.host}:{one.port}" for one in known})
    except AttributeError:
        return ""
    if not addresses:
        return ""
    return (
        f" It sends its clients on to {', '.join(addresses)} (advertised.listeners of its "
        "brokers): these must be reachable from here, too."
    )


@contextmanager
def _listening(errors: list[BaseException]) -> Iterator[None]:
    _ears.listeners[id(errors)] = errors
    try:
        yield
    finally:
        del _ears.listeners[id(errors)]


def _first_refusal(errors: list[BaseException], connection: Connection) -> str | None:
    return next(filter(None, (refusal(error, connection) for error in errors)), None)


def _unavailable(connection: Connection, errors: list[BaseException]) -> KafkaUnavailable:
    reason = _first_refusal(errors, connection)
    if reason is not None:
        return KafkaUnavailable(f"Kafka at {connection.bootstrap} {reason}")
    if any(map(hangs_up, errors)):
        return KafkaUnavailable(
            f"Kafka at {connection.bootstrap} ends every connection without an answer. "
            f"{_what_it_may_mean(connection)}"
        )
    lost = [error for error in errors if isinstance(error, KafkaConnectionError)]
    return KafkaUnavailable(
        f"Kafka at {connection.bootstrap} cannot be reached ({lost[-1] if lost else errors[-1]}). "
        "Check its address (kafka.bootstrap in a pipeline file) and that the broker is running."
    )


def _what_it_may_mean(connection: Connection) -> str:
    credentials = connection.credentials
    if connection.tokens is not None:
        return (
            f"Its port does not seem to speak {connection.protocol} or to offer OAUTHBEARER: "
            "correct kafka.security, or the port in kafka.bootstrap."
        )
    if credentials is None:
        return (
            f"Its port does not seem to speak {connection.protocol}: correct "
            "kafka.security.protocol, or the port in kafka.bootstrap."
        )
    return (
        f"Its port does not seem to speak {connection.protocol}, to offer {credentials.mechanism} "
        f"or to accept user {credentials.username} there: correct kafka.security, or the port in "
        "kafka.bootstrap."
    )
