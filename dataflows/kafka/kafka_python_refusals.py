"""Explain exceptions of kafka-python about a Kafka that is there and does not let us in.

The texts name exceptions and settings, and repeat OpenSSL's words about certificates; what a broker
says is not repeated.
"""

import ssl
from collections.abc import Iterator

from kafka.errors import (
    IllegalSaslStateError,
    InvalidReceiveError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.connection import OAUTHBEARER, Connection
from fugu.dataflows.kafka.kafka_python_tokens import NoToken

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
