"""Ports for a broker of one's own."""

import secrets
import socket
from contextlib import ExitStack, suppress

HOST = "127.0.0.1"


def free_ports(count: int) -> int:
    """The first of `count` free ports in a row.

    All lie below the ephemeral range: a client's connection cannot take them while Kafka is down.
    """
    while True:
        first = 20_000 + secrets.randbelow(12_000)
        with suppress(OSError), ExitStack() as held:
            for port in range(first, first + count):
                held.enter_context(socket.create_server((HOST, port)))
            return first
