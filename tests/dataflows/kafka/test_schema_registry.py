"""What stands in front of a registry, or writes by none, neither loses records nor stops others."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fugu.dataflows.kafka import schema_registry
from fugu.dataflows.kafka.schema_registry import SchemaRegistry
from fugu.dataflows.monitoring.notices import RegistryAway
from fugu.dataflows.records.registered import schema_id

NO_SCHEMA = b'{"error_code":40403,"message":"Schema not found"}'
NO_ROUTE = b"default backend - 404"


@contextmanager
def answering(body: bytes, seconds: float = 0.0, status: int = 404) -> Iterator[SchemaRegistry]:
    """Serve a status with a body for everything, and give a registry that asks there."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(seconds)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("localhost", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://localhost:{server.server_address[1]}"
    try:
        yield SchemaRegistry(url, lambda: {"url": url, "timeout": 5.0, "max.retries": 0})
    finally:
        server.shutdown()
        server.server_close()


def written_by(*numbers: int) -> list[bytes]:
    return [b"\0" + number.to_bytes(4, "big") for number in numbers]


def is_told(registry: SchemaRegistry, numbers: set[int], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if registry.are_there(numbers):
            return True
        if registry.away_since is not None:
            return False
        time.sleep(0.005)
    return False


def test_an_id_that_the_registry_does_not_know_is_told() -> None:
    with answering(NO_SCHEMA) as registry:
        assert is_told(registry, {7}, 5.0)
        assert registry.text_of(7) is None


def test_a_proxy_that_finds_no_registry_holds_records_back_and_refuses_none() -> None:
    with answering(NO_ROUTE) as registry:
        assert not is_told(registry, {7}, 5.0)
        assert registry.away_since is not None


@pytest.mark.parametrize("status", [401, 500])
def test_a_registry_that_answers_and_tells_nothing_is_not_called_silent(status: int) -> None:
    with answering(b'{"error_code":1,"message":"canary"}', status=status) as registry:
        assert not is_told(registry, {7}, 5.0)
        assert registry.away_since is not None
        [notice] = RegistryAway("raw", registry).notices(registry.away_since + 61)
    assert notice.text == (
        f"topic raw: records wait for a schema, and the registry at {registry.url} has told none "
        f"for 61 s (it answers {status})"
    )


def test_more_unknown_ids_than_can_be_asked_for_in_a_while_do_not_stop_a_partition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What takes longer to ask for than an answer is believed is asked for once all the same."""
    monkeypatch.setattr(schema_registry, "_UNKNOWN_FOR", 0.1)
    monkeypatch.setattr(schema_registry, "_AT_ONCE", 4)
    with answering(NO_SCHEMA, seconds=0.01) as registry:
        assert is_told(registry, set(range(1, 31)), 5.0)


def test_ids_that_no_registry_gives_are_not_asked_for() -> None:
    largest, beyond = written_by(2**31 - 1, 2**31)
    assert schema_id(largest) == 2**31 - 1
    assert schema_id(beyond) is None
