"""A relay between clients and a broker, which can be cut: nothing passes, and nobody is told."""

import socket
from contextlib import suppress
from threading import Event, Thread
from typing import Self

from tests.kafka.ports import HOST

_PIECE = 65_536


class Relay:
    """Hand on what comes to `port` of this machine to `target`, and back.

    While it is cut, bytes stay where they are, as in a network that loses every packet: no
    connection ends, and new ones get no answer. Afterwards what was on its way arrives late.
    """

    def __init__(self, port: int, target: int) -> None:
        self._target = target
        self._open = Event()
        self._open.set()
        self._sockets: set[socket.socket] = set()
        self._server = socket.create_server((HOST, port))
        Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cut(self) -> None:
        """Let nothing through."""
        self._open.clear()

    def mend(self, *, late: bool) -> None:
        """Let everything through; what was on its way arrives `late`, or never."""
        if not late:
            self._drop()
        self._open.set()

    def close(self) -> None:
        """End all connections, and take no more."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # wakes who waits in `accept`
        self._server.close()
        self._drop()
        self._open.set()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._open.wait()
        with client, socket.socket() as broker, suppress(OSError):
            broker.connect((HOST, self._target))
            ends = {client, broker}
            self._sockets |= ends
            try:
                back = Thread(target=self._hand_on, args=(broker, client), daemon=True)
                back.start()
                self._hand_on(client, broker)
                back.join()
            finally:
                self._sockets -= ends

    def _hand_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(_PIECE):
                self._open.wait()
                target.sendall(piece)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _drop(self) -> None:
        for end in [*self._sockets]:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
