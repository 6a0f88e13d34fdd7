"""A broker that sends its clients to an address that nobody reaches: the error names it."""

import signal
import socket
import time
from collections.abc import Iterator

import pytest

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.connection import Library
from tests.kafka.clients import both, connected
from tests.kafka.kafka_process import end, launch
from tests.kafka.ports import HOST, free_ports

START_SECONDS = 60


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Where a broker listens, and where it sends those who come there: nobody listens."""
    folder, port = tmp_path_factory.mktemp("broker"), free_ports(4)
    here, nowhere = port + 2, port + 3
    options = ["--light", "--port", str(port), "--data", str(folder)]
    process = launch(folder / "broker.log", *options, "--relayed", f"{here}:{nowhere}")
    deadline = time.monotonic() + START_SECONDS
    while not _answers(here):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield f"{HOST}:{here}", f"{HOST}:{nowhere}"
    end(process, signal.SIGTERM)


def _answers(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True


@both
def test_the_address_that_was_tried_is_named(addresses: tuple[str, str], library: Library) -> None:
    bootstrap, nowhere = addresses
    with pytest.raises(KafkaUnavailable) as raised:
        connected(bootstrap, library).topic("private")
    assert f"Kafka at {bootstrap} cannot be used" in str(raised.value)
    assert f"sends its clients on to {nowhere} (advertised.listeners" in str(raised.value)
