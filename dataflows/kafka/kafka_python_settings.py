"""Translate a `Connection` into settings of kafka-python, with sockets and tokens for it."""

import json
import socket
import ssl
import time
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from threading import Lock, Timer
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote_plus, urlencode
from urllib.request import HTTPSHandler, Request, build_opener

from kafka.errors import KafkaConnectionError
from kafka.net import KafkaNetSocket
from kafka.net.sasl.oauth import AbstractTokenProvider

from fugu.dataflows.kafka.connection import OAUTHBEARER, Connection, Credentials
from fugu.dataflows.kafka.credentials import TokenServer

HANDSHAKE_SECONDS = 5
DIRECT = "fugu-direct://"
"""The setting `proxy_url` of kafka-python by which it connects directly, by `PatientSocket`."""


class PatientSocket(socket.socket):
    """Let the end of a connection wait until the socket is read again.

    kafka-python drops what it has just read where the connection ends behind it: the reason for
    which a broker refuses a user.
    """

    _nothing_now: type[OSError] = BlockingIOError
    _was_read = False

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Return what has arrived; nothing is there now where only the end stands behind it."""
        was_read, self._was_read = self._was_read, False
        try:
            data = super().recv(buflen, flags)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except OSError:
            if was_read:
                raise self._nothing_now from None
            raise
        if was_read and not data:
            raise self._nothing_now
        self._was_read = bool(data)
        return data


class TlsSocket(PatientSocket, ssl.SSLSocket):
    """Bound a TLS handshake, too: kafka-python waits without end for who does not answer."""

    _nothing_now = ssl.SSLWantReadError
    _bound: Timer | None = None

    def do_handshake(self, block: bool = False) -> None:
        """Shake hands; hang up if that takes too long, which ends kafka-python's waiting."""
        if self._bound is None:
            self._bound = Timer(HANDSHAKE_SECONDS, self._hang_up)
            self._bound.daemon = True
            self._bound.start()
        super().do_handshake(block)
        self._bound.cancel()

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)


class Direct(KafkaNetSocket):  # type: ignore[misc]
    """Make sockets that connect to a broker directly; kafka-python finds this by its scheme."""

    SCHEMES = (DIRECT.removesuffix("://"),)

    def socket(self, *kind: Any) -> PatientSocket:
        """Return a socket of this family, type and protocol."""
        return PatientSocket(*kind)


_ANSWER_SECONDS = 10.0
_LARGEST_ANSWER = 1_000_000
_SHARE_OF_LIFE = 0.8
_SHORTEST_LIFE = 60.0
"""A server that does not say how long a token lives is asked again after a while."""


class NoToken(KafkaConnectionError):  # type: ignore[misc]
    """Report that the server has given no token; the text repeats nothing that it said."""

    retriable = True


@dataclass
class Tokens(AbstractTokenProvider):  # type: ignore[misc]
    """Remember a token for most of its life."""

    server: TokenServer
    _token: str = field(default="", init=False, repr=False)
    _good_until: float = field(default=0.0, init=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def token(self) -> str:
        """Return a token that has not expired; `NoToken` if there is none."""
        with self._lock:
            if time.monotonic() >= self._good_until:
                self._token, life = _asked(self.server)
                self._good_until = time.monotonic() + _SHARE_OF_LIFE * life
            return self._token

    def extensions(self) -> dict[str, str]:
        """Return what is told besides the token."""
        return dict(self.server.extensions)


def _asked(server: TokenServer) -> tuple[str, float]:
    """Ask for a token (RFC 6749, section 4.4); return it, and for how many seconds it is good."""
    asked = {"grant_type": "client_credentials"}
    asked |= {} if server.scope is None else {"scope": server.scope}
    who = f"{quote_plus(server.client_id)}:{quote_plus(server.client_secret.get_secret_value())}"
    request = Request(
        server.url,
        urlencode(asked).encode(),
        {
            "Authorization": f"Basic {b64encode(who.encode()).decode()}",
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )
    authorities = None if server.authorities is None else str(server.authorities)
    context = ssl.create_default_context(cafile=authorities)
    try:
        with build_opener(HTTPSHandler(context=context)).open(
            request, timeout=_ANSWER_SECONDS
        ) as answer:
            found = json.loads(answer.read(_LARGEST_ANSWER))
        token, life = found["access_token"], found.get("expires_in", _SHORTEST_LIFE)
        if not (isinstance(token, str) and token.isascii() and token.isprintable() and token):
            raise ValueError
        return token, float(life)
    except HTTPError as error:
        raise NoToken(
            f"the token server refuses client {server.client_id} ({error.code})"
        ) from None
    except (OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"the token server gives no token ({type(error).__name__})"
        raise NoToken(what) from None


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
