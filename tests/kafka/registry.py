"""A real schema registry for tests: Apicurio, over the interface of Confluent's."""

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from urllib.error import URLError
from urllib.request import urlopen

from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient

from tests.kafka.ports import HOST, free_ports

START = Path(__file__).parents[2] / "deploy" / "registry" / "start"
SECONDS = 240
"""The first start fetches it."""


class Registry:
    """A registry with a port of its own; what it holds is gone when it stops."""

    def __init__(self) -> None:
        self._port = free_ports(1)
        self.url = f"http://{HOST}:{self._port}/apis/ccompat/v7"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Return once it answers."""
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen([START, str(self._port)], stdout=quiet, stderr=quiet)
        deadline = time.monotonic() + SECONDS
        while not self._answers():
            assert self._process.poll() is None, "the registry ended"
            assert time.monotonic() < deadline, "the registry does not answer"
            time.sleep(0.2)

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def client(self) -> Any:
        """Confluent's client."""
        return SchemaRegistryClient({"url": self.url})

    def register(
        self, subject: str, text: str, kind: str = "AVRO", imported: Mapping[str, str] | None = None
    ) -> int:
        """Register a schema, and return its id; what it imports is in subjects of that name."""
        references = []
        for name, other in (imported or {}).items():
            self.client.register_schema(name, Schema(other, kind))
            references.append(SchemaReference(name, name, 1))
        number: int = self.client.register_schema(subject, Schema(text, kind, references))
        return number

    def newest(self, subject: str) -> int:
        """The id of the newest schema of a subject."""
        number: int = self.client.get_latest_version(subject).schema_id
        return number

    def text(self, subject: str) -> str:
        """The newest schema of a subject."""
        return str(self.client.get_latest_version(subject).schema.schema_str)

    def require_compatible(self, subject: str) -> None:
        """Refuse schemas of a subject by which what is there cannot be read."""
        self.client.set_compatibility(subject, "BACKWARD_TRANSITIVE")

    def _answers(self) -> bool:
        try:
            with urlopen(f"{self.url}/subjects", timeout=2) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False
