"""Metrics and health of a running pipeline, asked over HTTP."""

from collections.abc import Callable
from http.client import HTTPConnection

from prometheus_client.parser import text_string_to_metric_families

from tests.kafka.ports import HOST


class Pages:
    """Read the pages that a process shows; `seen` keeps every answer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.seen: list[bytes] = []

    def get(self, path: str) -> tuple[int, bytes]:
        connection = HTTPConnection(HOST, self._port, timeout=5)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            self.seen.append(response.read())
        finally:
            connection.close()
        return response.status, self.seen[-1]

    def is_healthy(self) -> bool:
        try:
            return self.get("/healthz") == (200, b'{"status":"ok"}\n')
        except ConnectionError:
            return False

    def sums(self, name: str, label: str = "topic") -> dict[str, float]:
        """The samples of one metric, added up by one label."""
        found: dict[str, float] = {}
        for family in text_string_to_metric_families(self.get("/metrics")[1].decode()):
            for sample in family.samples:
                if sample.name == name:
                    key = sample.labels.get(label, "")
                    found[key] = found.get(key, 0) + sample.value
        return found

    def reach(self, name: str, sums: dict[str, float]) -> Callable[[], bool]:
        """Return a check whether a metric has these sums."""
        return lambda: self.sums(name) == sums
