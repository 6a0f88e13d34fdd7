"""A registry that this process plays: a real one would refuse much of what it answers."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

from fugu.dataflows.kafka.schema_registry import SchemaRegistry

Answer = Callable[[BaseHTTPRequestHandler], None]
"""Writes an answer as it likes."""


class PlayedRegistry:
    """Schemas by id and by subject; answers for paths may be of any kind."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.url = ""

    def add(
        self,
        number: int | str,
        text: object,
        kind: str = "AVRO",
        references: Sequence[str] = (),
        names: Mapping[str, str] | None = None,
    ) -> None:
        """Add a schema with an id, or with a subject; it refers to subjects, of these names."""
        named = {one: one for one in references} | dict(names or {})
        body = {"schema": text, "schemaType": kind, "references": [
            {"name": name, "subject": subject, "version": 1} for name, subject in named.items()
        ]}  # fmt: skip
        path = f"/schemas/ids/{number}"
        if isinstance(number, str):
            path = f"/subjects/{number}/versions/1"
        self.answers[path] = whole(json.dumps(body).encode())

    @property
    def client(self) -> SchemaRegistry:
        """What asks here."""
        return SchemaRegistry(self.url, lambda: {"url": self.url})


def whole(
    body: bytes, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})
) -> Answer:
    """What answers with this."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


NOT_THERE = whole(b'{"error_code":40403,"message":"Schema not found"}', 404)


@contextmanager
def played_registry() -> Iterator[PlayedRegistry]:
    """Serve a registry; it has no schemas at first."""
    registry = PlayedRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            registry.asked.append(path)
            try:
                registry.answers.get(path, NOT_THERE)(self)
            except OSError:  # who asked went away
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("localhost", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    registry.url = f"http://localhost:{server.server_address[1]}"
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
