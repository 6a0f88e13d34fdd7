"""Serve a few read-only pages over HTTP, on threads of their own."""

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EADDRINUSE, EMFILE, ENFILE
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import Thread
from typing import Any

import orjson
from prometheus_client import CONTENT_TYPE_LATEST

from fugu.dataflows.base.errors import AddressInUse, ConfigurationError
from fugu.dataflows.base.metrics import Metrics
from fugu.dataflows.pipeline.sections import MetricsEndpoint

_CLIENT_SECONDS = 5
_POLL_SECONDS = 0.1
_MAY_PASS = EADDRINUSE, EMFILE, ENFILE, socket.EAI_AGAIN
"""List the errors that may be gone at the next start; the last one is that of a name server."""


@dataclass(frozen=True)
class Page:
    """Hold one answer."""

    status: int
    content_type: str
    content: bytes


def verdict(problem: str | None, degraded: Sequence[str] = (), waiting: Sequence[str] = ()) -> Page:
    """Return the page of a health: 200, or 503 and the reason; 200 may have reasons to act on, or
    say what is waited for."""
    if problem is None and degraded:
        content = orjson.dumps({"status": "degraded", "reasons": [*degraded]})
        return Page(200, "application/json", content + b"\n")
    if problem is None and waiting:
        content = orjson.dumps({"status": "ok", "waiting": [*waiting]})
        return Page(200, "application/json", content + b"\n")
    if problem is None:
        return Page(200, "application/json", b'{"status":"ok"}\n')
    content = orjson.dumps({"status": "unavailable", "reason": problem})
    return Page(503, "application/json", content + b"\n")


Pages = Mapping[str, Callable[[], Page]]
_NOT_FOUND = Page(404, "text/plain; charset=utf-8", b"not found\n")


class MetricsServer:
    """Own a port from construction on, so that one in use is noticed before all else."""

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        with _listening(host, port):
            self._server = _Server(host, port, pages)
        serve = self._server.serve_forever
        Thread(target=serve, args=(_POLL_SECONDS,), name="metrics", daemon=True).start()

    def close(self) -> None:
        """Answer no more and give the port back."""
        self._server.shutdown()
        self._server.server_close()


def require_free(endpoint: MetricsEndpoint) -> None:
    """Raise what listening there would raise; a start at the same moment is not disturbed."""
    host, port = endpoint.host, endpoint.port
    with _listening(host, port), socket.socket(_family(host), socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))


@contextmanager
def _listening(host: str, port: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise (AddressInUse if error.errno in _MAY_PASS else ConfigurationError)(
            f"metrics: cannot listen on {host}:{port} ({error.strerror or error}). Give "
            "metrics.host and metrics.port of the pipeline file an address of this machine "
            "and a free port."
        ) from None


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def serve(
    endpoint: MetricsEndpoint | None,
    metrics: Callable[[], Metrics],
    problem: Callable[[], str | None],
    stuck: Callable[[], str | None],
    degraded: Callable[[], Sequence[str]],
    waiting: Callable[[], Sequence[str]],
) -> MetricsServer | None:
    """Serve numbers and health, where the pipeline file says `metrics`.

    /metrics    the numbers
    /healthz    200 while the pipeline does its work, with reasons if it is `degraded`, or what it
                waits for; else 503 and the reason: readiness, alerts
    /livez      503 only when a restart would help, which Kafka's absence is not: liveness
    """
    pages = {
        "/metrics": lambda: Page(200, CONTENT_TYPE_LATEST, metrics().text()),
        "/healthz": lambda: verdict(problem(), degraded(), waiting()),
        "/livez": lambda: verdict(stuck()),
    }
    return None if endpoint is None else MetricsServer(endpoint.host, endpoint.port, pages)


class _Server(ThreadingMixIn, TCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        self.pages = pages
        self.address_family = _family(host)
        super().__init__((host, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _CLIENT_SECONDS

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def version_string(self) -> str:
        return "fugu"

    def log_message(self, format: str, *args: Any) -> None:
        """Log no requests."""

    def _answer(self, *, with_content: bool) -> None:
        page = self.server.pages.get(self.path.partition("?")[0], lambda: _NOT_FOUND)()
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if with_content:
            self.wfile.write(page.content)
