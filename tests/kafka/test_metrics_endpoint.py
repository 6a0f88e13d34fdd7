"""Numbers, health and logs of `fugu run` on a real broker: they add up, and hold no content."""

import socket
from collections.abc import Iterable
from pathlib import Path

import orjson
import pytest

from tests.kafka.pages import Pages
from tests.kafka.pipelines import Document, pipeline_document, refusal, running, write_pipeline
from tests.kafka.ports import HOST, free_ports
from tests.kafka.records import Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory

PARTITIONS = 2
KEYS = 25
CANARY = b"canary"
LOG_FIELDS = {"time", "level", "message", "topic", "partition", "offset"}
REFUSED = {
    "outside_domain": b'{"zone": "canary-symbol"}',
    "field_missing": b'{"canary-field": 1}',
    "not_json": b"canary-text",
}


@pytest.fixture
def port() -> int:
    return free_ports(1)


@pytest.fixture
def document(bootstrap: str, topics: TopicFactory, port: int) -> Document:
    source = topics("raw", partitions=PARTITIONS)
    document = pipeline_document(bootstrap, source, f"{source}-out")
    document["source"]["partitioner"] = "unchecked"
    return document | {"metrics": {"port": port}, "logs": "json"}


def placed(number: int, value: bytes) -> Placed:
    """One record of one of the keys, each of which has its partition."""
    key = number % KEYS
    return Placed(key % PARTITIONS, Record(f"canary-key-{key}".encode(), value))


def good(count: int) -> Iterable[Placed]:
    return [placed(n, b'{"zone": "light", "note": "canary-note"}') for n in range(count)]


def test_numbers_add_up_while_records_flow(
    tmp_path: Path, document: Document, bootstrap: str, port: int
) -> None:
    source, sink = document["source"]["topic"], document["sink"]["topic"]
    refused = [placed(n, value) for value in REFUSED.values() for n in range(7)]
    pages = Pages(port)
    with running(write_pipeline(tmp_path, document)) as process:
        process.wait_until(pages.is_healthy)
        produce(bootstrap, source, [*good(200), *refused])
        process.wait_until(pages.reach("fugu_records_in_total", {source: 221}))
        produce(bootstrap, source, good(100))
        out = {sink: 300.0, f"{sink}.dead": 21.0}
        process.wait_until(pages.reach("fugu_records_out_total", out))
        process.wait_until(pages.reach("fugu_streams", {source: KEYS}))
        process.wait_until(pages.reach("fugu_lag_records", {source: 0}))

        timed = "fugu_release_seconds_count"
        process.wait_until(lambda: 300 <= pages.sums(timed).get(source, 0) <= 321)

        assert pages.sums("fugu_records_in_total") == {source: 321}
        reasons = pages.sums("fugu_dead_letters_total", "reason")
        assert reasons == dict.fromkeys(REFUSED, 7)
        assert pages.sums("fugu_replayed_releases_total") == {}
        assert pages.sums("fugu_state_written_bytes_total")[source] > 8 * KEYS
        assert pages.sums("fugu_last_snapshot_age_seconds")[source] < 5 * PARTITIONS
        assert pages.sums("fugu_streams_limit") == {source: 1_000_000}

        second = document | {"metrics": {"port": free_ports(1)}, "logs": "plain"}
        assert "is in use" in refusal(_beside(tmp_path, second))
        assert pages.sums("fugu_refused_starts_total") == {"": 1}
        assert pages.get("/livez") == (200, b'{"status":"ok"}\n')
        assert process.stop() == 0
        lines = [orjson.loads(line) for line in process.stderr.splitlines()]
        assert lines
        assert all(LOG_FIELDS.issuperset(line) for line in lines)
        said = process.stderr.encode()
    assert not [content for content in (*pages.seen, said) if CANARY in content]


def test_replayed_releases_are_counted_as_such(
    tmp_path: Path, document: Document, bootstrap: str, port: int
) -> None:
    source, sink = document["source"]["topic"], document["sink"]["topic"]
    document["state"]["every"], document["sink"]["key"] = "10m", "none"
    pages = Pages(port)
    with running(write_pipeline(tmp_path, document)) as process:
        process.wait_until(pages.is_healthy)
        produce(bootstrap, source, good(50))
        process.wait_until(lambda: _published(bootstrap, sink) == 50)
        process.kill()
    with running(write_pipeline(tmp_path, document)) as process:
        process.wait_until(pages.is_healthy)
        process.wait_until(pages.reach("fugu_replayed_releases_total", {sink: 50}))
        assert pages.sums("fugu_records_out_total")[sink] == 0
        assert process.stop() == 0
    assert b"fugu_streams{" not in b"".join(pages.seen)


def test_port_in_use_is_said_before_anything_is_read(
    tmp_path: Path, document: Document, port: int
) -> None:
    with socket.create_server((HOST, port)):
        said = refusal(write_pipeline(tmp_path, document | {"logs": "plain"}))
    assert f"metrics: cannot listen on {HOST}:{port} (Address already in use)" in said
    assert not (tmp_path / "state").exists()


def _beside(directory: Path, document: Document) -> Path:
    """The same pipeline in a file of another name."""
    path = write_pipeline(directory, document)
    return path.rename(path.with_name("second.yaml"))


def _published(bootstrap: str, topic: str) -> int:
    return sum(map(len, read_topic(bootstrap, topic).values()))
