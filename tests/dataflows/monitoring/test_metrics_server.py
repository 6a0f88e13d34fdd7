"""The pages of a running process, and the port they are on."""

import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest

from fugu.dataflows.base.errors import AddressInUse, ConfigurationError, exit_code
from fugu.dataflows.monitoring.server import MetricsServer, Page, require_free
from fugu.dataflows.pipeline.sections import MetricsEndpoint

HOST = "127.0.0.1"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server((HOST, 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    port = free_port()
    server = MetricsServer(HOST, port, {"/healthz": lambda: Page(503, "text/plain", b"not now")})
    yield port
    server.close()


def ask(port: int, method: str, path: str) -> tuple[HTTPResponse, bytes]:
    """One request."""
    connection = HTTPConnection(HOST, port, timeout=5)
    connection.request(method, path)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response, content


def test_page(port: int) -> None:
    for path in ("/healthz", "/healthz?verbose=1"):
        response, content = ask(port, "GET", path)
        assert (response.status, content) == (503, b"not now")
        assert response.getheader("Content-Type") == "text/plain"


def test_head_has_no_content(port: int) -> None:
    response, content = ask(port, "HEAD", "/healthz")
    assert (response.status, content) == (503, b"")
    assert response.getheader("Content-Length") == "7"


@pytest.mark.parametrize("path", ["/", "/metrics/", "/canary"])
def test_everything_else_is_not_found(port: int, path: str) -> None:
    response, content = ask(port, "GET", path)
    assert (response.status, content) == (404, b"not found\n")


def test_nothing_can_be_sent(port: int) -> None:
    assert ask(port, "POST", "/healthz")[0].status == 501


def test_versions_of_libraries_are_not_told(port: int) -> None:
    response, _ = ask(port, "GET", "/healthz")
    assert response.getheader("Server") == "fugu"


def test_client_that_goes_away_is_not_reported(
    port: int, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_connection((HOST, port)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
    assert ask(port, "GET", "/healthz")[0].status == 503
    assert capfd.readouterr().err == ""


def test_port_in_use_is_one_clear_error(port: int) -> None:
    with pytest.raises(AddressInUse) as refusal:
        MetricsServer(HOST, port, {})
    assert exit_code(refusal.value) == 1, "it may be free at the next start"
    assert str(refusal.value) == (
        f"metrics: cannot listen on {HOST}:{port} (Address already in use). Give metrics.host and "
        "metrics.port of the pipeline file an address of this machine and a free port."
    )


def test_a_look_says_what_listening_would_say(port: int) -> None:
    with pytest.raises(AddressInUse) as looked:
        require_free(MetricsEndpoint(port=port, host=HOST))
    with pytest.raises(AddressInUse) as listened:
        MetricsServer(HOST, port, {})
    assert str(looked.value) == str(listened.value)


def test_a_look_at_the_same_moment_keeps_nobody_from_listening(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port, bind = free_port(), socket.socket.bind

    class Probe(socket.socket):
        def bind(self, address: Any) -> None:
            bind(self, address)
            monkeypatch.undo()
            MetricsServer(HOST, port, {}).close()

    monkeypatch.setattr(socket, "socket", Probe)
    require_free(MetricsEndpoint(port=port, host=HOST))
    assert socket.socket is not Probe


def test_host_that_is_not_here_is_one_clear_error() -> None:
    with pytest.raises(ConfigurationError, match=r"cannot listen on 192\.0\.2\.1:"):
        MetricsServer("192.0.2.1", free_port(), {})


def test_port_is_free_again_after_closing() -> None:
    port = free_port()
    for _ in range(2):
        MetricsServer(HOST, port, {}).close()
