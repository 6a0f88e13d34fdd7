"""A small HTTP server for a few read-only pages, on threads of its own."""

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import Thread
from typing import Any

import orjson

from fugu.dataflows.base.errors import ConfigurationError

_CLIENT_SECONDS = 5
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Page:
    """One answer."""

    status: int
    content_type: str
    content: bytes


def verdict(problem: str | None) -> Page:
    """Of health: 200, or 503 and the reason."""
    if problem is None:
        return Page(200, "application/json", b'{"status":"ok"}\n')
    content = orjson.dumps({"status": "unavailable", "reason": problem})
    return Page(503, "application/json", content + b"\n")


Pages = Mapping[str, Callable[[], Page]]
_NOT_FOUND = Page(404, "text/plain; charset=utf-8", b"not found\n")


class MetricsServer:
    """Owns its port from construction on, so a port that is in use is noticed before all else."""

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        try:
            self._server = _Server(host, port, pages)
        except OSError as error:
            raise ConfigurationError(
                f"metrics: cannot listen on {host}:{port} ({error.strerror or error}). Give "
                "metrics.host and metrics.port of the pipeline file an address of this machine "
                "and a free port."
            ) from None
        serve = self._server.serve_forever
        Thread(target=serve, args=(_POLL_SECONDS,), name="metrics", daemon=True).start()

    def close(self) -> None:
        """Answer no more and give the port back."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingMixIn, TCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        self.pages = pages
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


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
        """Requests are not logged."""

    def _answer(self, *, with_content: bool) -> None:
        page = self.server.pages.get(self.path.partition("?")[0], lambda: _NOT_FOUND)()
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if with_content:
            self.wfile.write(page.content)
