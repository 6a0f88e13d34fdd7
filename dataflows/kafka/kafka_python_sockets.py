"""Sockets for kafka-python, which hand out what arrived before the end of a connection.

kafka-python drops what it has just read where the connection ends behind it: the reason for which a
broker refuses a user.
"""

import socket
import ssl
from contextlib import suppress
from threading import Timer
from typing import Any

from kafka.net import KafkaNetSocket

HANDSHAKE_SECONDS = 5
DIRECT = "fugu-direct://"
"""The setting `proxy_url` of kafka-python by which it connects directly, by `PatientSocket`."""


class PatientSocket(socket.socket):
    """Let the end of a connection wait until the socket is read again."""

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
