"""Translate a `Connection` into the public settings of kafka-python, shared by all its clients."""

import socket
import ssl
from contextlib import suppress
from threading import Timer
from typing import Any

from fugu.dataflows.kafka.connection import OAUTHBEARER, Connection, Credentials
from fugu.dataflows.kafka.kafka_python_tokens import Tokens

HANDSHAKE_SECONDS = 5
_EMBEDDED_API = (2, 3)
"""The version of librdkafka's mock broker, which kafka-python cannot ask for."""
_BACKOFF_MS = 200
"""Short, so that `reach` tries often: without TLS, kafka-python mostly loses the reason of a broker
that hangs up as it refuses a user."""


def settings_of(connection: Connection) -> dict[str, Any]:
    """Return keyword arguments of kafka-python's producer, consumer and admin client."""
    settings: dict[str, Any] = {
        "bootstrap_servers": connection.bootstrap.split(","),
        "reconnect_backoff_max_ms": _BACKOFF_MS,
        "client_id": "fugu",
        "security_protocol": connection.protocol,
    }
    if connection.embedded:
        settings["api_version"] = _EMBEDDED_API
    if connection.tls is not None:
        settings["ssl_context"] = connection.tls.context()
        settings["ssl_context"].sslsocket_class = TlsSocket
    if connection.credentials is not None:
        settings |= _sasl(connection.credentials)
    if connection.tokens is not None:
        settings |= {
            "sasl_mechanism": OAUTHBEARER,
            "sasl_oauth_token_provider": Tokens(connection.tokens),
        }
    return settings


class TlsSocket(ssl.SSLSocket):
    """Bound a TLS handshake, and hand out what arrived before the end of a connection.

    kafka-python waits without end for a peer that does not answer. It also drops what it has just
    read where the connection ends behind it: the reason for which a broker refuses a user.
    """

    _bound: Timer | None = None
    _was_read = False

    def do_handshake(self, block: bool = False) -> None:
        """Shake hands; hang up if that takes too long, which ends kafka-python's waiting."""
        if self._bound is None:
            self._bound = Timer(HANDSHAKE_SECONDS, self._hang_up)
            self._bound.daemon = True
            self._bound.start()
        super().do_handshake(block)
        self._bound.cancel()

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Return what has arrived; let the end behind it wait until the socket is read again."""
        was_read, self._was_read = self._was_read, False
        try:
            data = super().recv(buflen, flags)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except OSError:
            if was_read:
                raise ssl.SSLWantReadError from None
            raise
        if was_read and not data:
            raise ssl.SSLWantReadError
        self._was_read = bool(data)
        return data

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)


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
