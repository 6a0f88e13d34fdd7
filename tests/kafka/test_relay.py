"""A relay that is cut lets nothing through, and tells nobody."""

import socket
from collections.abc import Iterator

import pytest

from tests.kafka.ports import HOST, free_ports
from tests.kafka.relay import Relay

SOON = 0.2


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server((HOST, free_ports(1))) as server:
        yield server


@pytest.mark.parametrize("late", [True, False])
def test_what_was_on_its_way_while_it_was_cut_arrives_late_or_never(
    server: socket.socket, late: bool
) -> None:
    port = free_ports(1)
    with (
        Relay(port, server.getsockname()[1]) as relay,
        socket.create_connection((HOST, port)) as client,
        server.accept()[0] as served,
    ):
        client.sendall(b"before")
        assert served.recv(100) == b"before"
        relay.cut()
        client.sendall(b"meanwhile")
        served.settimeout(SOON)
        with pytest.raises(TimeoutError):
            served.recv(100)
        with socket.create_connection((HOST, port)) as other:
            server.settimeout(SOON)
            with pytest.raises(TimeoutError):
                server.accept()
            relay.mend(late=late)
            served.settimeout(10)
            assert served.recv(100) == (b"meanwhile" if late else b"")
            server.settimeout(10)
            server.accept()[0].close()
            assert other.recv(100) == b""
