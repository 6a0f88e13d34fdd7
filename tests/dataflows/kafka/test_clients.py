"""Which client a pipeline file stands for."""

from pathlib import Path

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.connection import Connection, Library
from tests.dataflows.pipeline.pipeline_files import read, read_error, with_change

ADDRESS = 'bootstrap: "localhost:9092"'


def kafka(lines: str) -> str:
    return with_change(ADDRESS, f"{ADDRESS}\n  {lines}")


@pytest.fixture
def without_librdkafka(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fugu.dataflows.kafka.clients.find_spec", lambda name: None)


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
def test_without_librdkafka_kafka_python_is_taken() -> None:
    assert client_of(Connection("localhost:9092")).name.startswith("kafka-python 3")


@pytest.mark.usefixtures("without_librdkafka")
@pytest.mark.parametrize(
    "connection",
    [
        Connection("localhost:9092", client="librdkafka"),
        Connection("localhost:9092", transactions=True),
    ],
)
def test_what_needs_librdkafka_says_how_to_install_it(connection: Connection) -> None:
    with pytest.raises(ConfigurationError, match=r"pip install 'fugu-streams\[fast\]'"):
        client_of(connection)


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


def test_a_transaction_is_not_kept_open_for_long(tmp_path: Path) -> None:
    text = kafka("transactions: true").replace("every: 1s", "every: 2m")
    assert "write state.every: 60s or less" in read_error(tmp_path, text)
