"""Which client a pipeline file stands for."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.install import install
from fugu.dataflows.kafka import clients
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.connection import Connection, Library
from tests.dataflows.pipeline.pipeline_files import read, read_error, with_change

ADDRESS = 'bootstrap: "localhost:9092"'


def kafka(lines: str) -> str:
    return with_change(ADDRESS, f"{ADDRESS}\n  {lines}")


@pytest.fixture
def without_librdkafka(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "confluent_kafka", "confluent-kafka is not installed")


def without(monkeypatch: pytest.MonkeyPatch, module: str, reason: str) -> None:
    monkeypatch.setattr(
        clients, "find_spec", lambda name: None if name == module else find_spec(name)
    )
    monkeypatch.setattr(clients, "refusal", lambda: reason)


@pytest.mark.parametrize(
    ("client", "name"),
    [
        ("auto", "librdkafka 2."),
        ("librdkafka", "librdkafka 2."),
        ("kafka-python", "kafka-python 3"),
    ],
)
def test_librdkafka_is_taken_where_it_is_unless_the_file_says_otherwise(
    client: Library, name: str, tmp_path: Path
) -> None:
    connection = read(tmp_path, kafka(f"client: {client}")).connection()
    assert client_of(connection).name.startswith(name)


@pytest.mark.usefixtures("without_librdkafka")
def test_without_librdkafka_kafka_python_is_taken(caplog: pytest.LogCaptureFixture) -> None:
    assert client_of(Connection("localhost:9092")).name.startswith("kafka-python 3")
    assert not caplog.records, "nobody asked for another one"


def test_a_librdkafka_that_cannot_be_used_is_told_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    without(monkeypatch, "numba", "numba is not installed")
    for _ in range(2):
        assert client_of(Connection("localhost:9092")).name.startswith("kafka-python 3")
    [record] = caplog.records
    assert record.getMessage() == (
        "librdkafka is not used, but kafka-python, which is slower: numba is not installed. "
        f"Install it:  {install('fast')}  or write kafka.client: kafka-python"
    )


@pytest.mark.usefixtures("without_librdkafka")
@pytest.mark.parametrize(
    "connection",
    [
        Connection("localhost:9092", client="librdkafka"),
        Connection("localhost:9092", transactions=True),
    ],
)
def test_what_needs_librdkafka_says_how_to_install_it(connection: Connection) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(install("fast"))) as caught:
        client_of(connection)
    assert "confluent-kafka is not installed" in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("client: confluent", "'auto', 'kafka-python' or 'librdkafka'"),
        (
            "client: kafka-python\n  transactions: true",
            "transactions need librdkafka: write client",
        ),
        ("broker: embedded\n  transactions: true", "the embedded broker shows aborted records"),
    ],
)
def test_what_does_not_go_together_says_what_to_write(
    lines: str, says: str, tmp_path: Path
) -> None:
    assert says in read_error(tmp_path, kafka(lines))


@pytest.mark.parametrize(
    ("lines", "every", "because"),
    [
        ("transactions: auto", "60s", ""),
        ("transactions: auto", "2m", "state.every is longer than 60 s"),
        ("client: kafka-python\n  transactions: auto", "1s", "kafka.client is kafka-python"),
        ("broker: embedded\n  transactions: auto", "1s", "shows aborted records"),
        ("transactions: false", "1s", "kafka.transactions is false"),
        ("client: auto", "1s", "kafka.transactions is false"),
    ],
)
def test_transactions_where_they_can_be_say_why_not(
    lines: str, every: str, because: str, tmp_path: Path
) -> None:
    text = kafka(lines).replace("every: 1s", f"every: {every}")
    connection = read(tmp_path, text).connection()
    assert because in connection.because
    assert connection.transactions == (False if because else "auto")


def test_a_transaction_is_not_kept_open_for_long(tmp_path: Path) -> None:
    text = kafka("transactions: true").replace("every: 1s", "every: 2m")
    assert "write state.every: 60s or less" in read_error(tmp_path, text)
