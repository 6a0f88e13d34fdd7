"""Explain why kafka-python does not reach Kafka, or is not let in.

The texts name exceptions and settings, and repeat OpenSSL's words about certificates; what a broker
says is not repeated.
"""

import logging
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from kafka.errors import (
    IllegalSaslStateError,
    InvalidReceiveError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.base.logs import ALOUD
from fugu.dataflows.kafka.connection import OAUTHBEARER, Connection
from fugu.dataflows.kafka.kafka_python_settings import NoToken

_OTHER_NAME = {62, 64}
"""OpenSSL's verify codes for a host name and for an address that the certificate does not list."""


def refusal(error: BaseException, connection: Connection) -> str | None:
    """Say how Kafka refused the client and what to do; None if it may just not be there yet."""
    for cause in _causes(error):
        reason = (
            _tls_refusal(cause, connection)
            if isinstance(cause, ssl.SSLError)
            else _kafka_refusal(cause, connection)
        )
        if reason is not None:
            return reason
    return None


def right_missing(topic: str, error: type[BaseException]) -> KafkaUnavailable:
    """Report that Kafka knows who we are and does not let us do what a pipeline must do."""
    return KafkaUnavailable(
        f"topic {topic}: the user of the pipeline lacks a right ({error.__name__}). Grant Describe "
        "and DescribeConfigs on all its topics, Read on all, and Write on its outputs; Create, if "
        "the pipeline file says sink.create: true."
    )


def hangs_up(error: BaseException) -> bool:
    """Return whether a connection was made and ended before Kafka said anything."""
    return any(
        isinstance(cause, ssl.SSLEOFError | ConnectionResetError)
        or cause.args == ("socket disconnected",)
        for cause in _causes(error)
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception, those it carries, and those it was raised for."""
    while error is not None:
        yield error
        yield from (carried for carried in error.args if isinstance(carried, BaseException))
        error = error.__cause__ or error.__context__


def _kafka_refusal(error: BaseException, connection: Connection) -> str | None:
    name, credentials = type(error).__name__, connection.credentials
    match error:
        case NoToken():
            return f"is not asked yet: {error.args[0]}. Correct kafka.security.oauth."
        case SaslAuthenticationFailedError() if connection.tokens is not None:
            return (
                f"does not accept the token of client {connection.tokens.client_id} ({name}). "
                "Let the server give tokens whose issuer, audience and subject Kafka expects: "
                "correct scope or client_id in kafka.security.oauth."
            )
        case SaslAuthenticationFailedError() if credentials is not None:
            return (
                f"does not accept user {credentials.username} with this password and "
                f"{credentials.mechanism} ({name}). Correct username, password or mechanism in "
                "kafka.security."
            )
        case UnsupportedSaslMechanismError():
            mechanism = OAUTHBEARER if credentials is None else credentials.mechanism
            return (
                f"does not offer {mechanism} ({name}). Write another "
                "kafka.security.mechanism, one that its administrator has enabled."
            )
        case IllegalSaslStateError():
            return (
                f"expects no user on this port ({name}). Write kafka.security.protocol: "
                f"{connection.protocol.removeprefix('SASL_')}, or give the port of "
                f"{connection.protocol} in kafka.bootstrap."
            )
        case InvalidReceiveError() if connection.tls is None:
            return (
                f"does not speak {connection.protocol} on this port, which seems to want TLS "
                f"({name}). Write kafka.security.protocol: "
                f"{connection.protocol.replace('PLAINTEXT', 'SSL')}, or give another port in "
                "kafka.bootstrap."
            )
    return None


def _tls_refusal(error: ssl.SSLError, connection: Connection) -> str | None:
    reason = str(error.reason)
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _OTHER_NAME:
            return (
                f"shows a certificate for another host ({error.verify_message.rstrip('.')}). "
                "Write a name that its certificate lists in kafka.bootstrap (and in the broker's "
                "advertised.listeners)."
            )
        return (
            f"shows a certificate that is not trusted here ({error.verify_message}). Write the "
            "file with the certificate of the authority that signed it as kafka.security.ca."
        )
    if "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason):
        if connection.tls is None or connection.tls.client is None:
            return (
                f"wants a client certificate ({reason}). Add certificate and key to kafka.security."
            )
        return (
            f"refuses the client certificate {connection.tls.client.certificate} ({reason}). Give "
            "one that an authority it trusts has signed and that has not expired."
        )
    if "ALERT" in reason or reason == "WRONG_VERSION_NUMBER":
        return (
            f"ended the TLS handshake ({reason}). Check that this port speaks TLS 1.2 or later, "
            "and whether it wants a client certificate."
        )
    return None


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
    """Return the client that `make` builds once Kafka answers; `KafkaUnavailable` says why not.

    kafka-python tries again until its time is over, whatever the reason is, and then says no more
    than that. It logs the reasons as exceptions, which are read here. A reason that waiting does
    not cure ends the attempts early, so that a wrong password is not tried for long.
    """
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
