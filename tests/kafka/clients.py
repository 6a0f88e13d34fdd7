"""Which client a test uses: `FUGU_TEST_CLIENT`, or both where clients are what it tests."""

import os
from typing import Any, get_args

import pytest

from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.connection import Connection, Library

CHOSEN: Any = os.environ.get("FUGU_TEST_CLIENT", "auto")
BOTH: list[Any] = [name for name in get_args(Library) if name != "auto"]
both = pytest.mark.parametrize("library", BOTH)


def connected(bootstrap: str, library: Library = CHOSEN) -> Client:
    """A client of a plain listener."""
    return client_of(Connection(bootstrap, client=library))


def kafka_section(bootstrap: str, library: Library = CHOSEN) -> dict[str, Any]:
    """The `kafka` section of a pipeline file for a plain listener."""
    return {"bootstrap": bootstrap, "client": library}
