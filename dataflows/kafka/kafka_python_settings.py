"""Translate a `Connection` into the public settings of kafka-python, shared by all its clients."""

from typing import Any

from fugu.dataflows.kafka.connection import OAUTHBEARER, Connection, Credentials
from fugu.dataflows.kafka.kafka_python_sockets import DIRECT, TlsSocket
from fugu.dataflows.kafka.kafka_python_tokens import Tokens

_EMBEDDED_API = (2, 3)
"""The version of librdkafka's mock broker, which kafka-python cannot ask for."""
_BACKOFF_MS = 200
"""Short, so that `reach` tries often."""


def settings_of(connection: Connection) -> dict[str, Any]:
    """Return keyword arguments of kafka-python's producer, consumer and admin client."""
    settings: dict[str, Any] = {
        "bootstrap_servers": connection.bootstrap.split(","),
        "reconnect_backoff_max_ms": _BACKOFF_MS,
        "client_id": connection.client_id,
        "security_protocol": connection.protocol,
    }
    if connection.embedded:
        settings["api_version"] = _EMBEDDED_API
    if connection.tls is not None:
        settings["ssl_context"] = connection.tls.context()
        settings["ssl_context"].sslsocket_class = TlsSocket
    elif connection.credentials is not None:
        settings["proxy_url"] = DIRECT
    if connection.credentials is not None:
        settings |= _sasl(connection.credentials)
    if connection.tokens is not None:
        settings |= {
            "sasl_mechanism": OAUTHBEARER,
            "sasl_oauth_token_provider": Tokens(connection.tokens),
        }
    return settings


class Hidden(str):
    """Hide a text in its repr: kafka-python repeats its settings in debug logs.

    >>> {"sasl_plain_password": Hidden("open sesame")}
    {'sasl_plain_password': **********}
    """

    def __repr__(self) -> str:
        return "**********"


def _sasl(credentials: Credentials) -> dict[str, str]:
    username = credentials.username
    if credentials.mechanism != "PLAIN":
        # RFC 5802 5.1 gives these two a meaning; kafka-python sends user names as they are.
        username = username.replace("=", "=3D").replace(",", "=2C")
    return {
        "sasl_mechanism": credentials.mechanism,
        "sasl_plain_username": username,
        "sasl_plain_password": Hidden(credentials.password.get_secret_value()),
    }
