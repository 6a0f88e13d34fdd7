"""The commands around an aggregate, as its operators run them."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from kafka import KafkaConsumer

from fugu.dataflows.base.errors import KafkaUnavailable, StartRefused
from fugu.dataflows.commands.peek import peek
from fugu.dataflows.commands.state import show
from fugu.dataflows.commands.validate import validate
from fugu.dataflows.pipeline.config import PipelineFile
from tests.faults.killed_shards import aggregate_document
from tests.kafka.foretold import refusal_foretold
from tests.kafka.pipelines import (
    SECRET,
    SECRET_VARIABLE,
    Document,
    running,
    write_pipeline,
)
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce
from tests.kafka.topics import TopicFactory

PARTITIONS, TICKS, FULL = 2, 6, 5
SECOND = 1_000
ZONES = [b"north", b"south", b"west"]
OPERATOR = {
    "kind": "budget_distribution",
    "epsilon": 1.0,
    "window": 8,
    "groups": [zone.decode() for zone in ZONES],
    "ticks": {"width": "1s", "grace": "400ms", "stream_time": {"distinct_keys": 1}},
}


@pytest.fixture
def counts(bootstrap: str, topics: TopicFactory) -> Document:
    """A pipeline whose topics do not exist, except for its source."""
    source = topics("trips", partitions=PARTITIONS)
    made = aggregate_document(bootstrap, topics, source, OPERATOR)
    made["state"]["shards"] = 1
    name = made["source"]["topic"]
    made["sink"] |= {"topic": f"{name}.counts", "partials": f"{name}.partials", "create": True}
    made["sink"] |= {"dead_letters": f"{name}.dead"}
    return made


@pytest.fixture
def output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[], str]:
    """Return a function that returns what was printed since the last time."""
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    return lambda: capsys.readouterr().out


def checks(file: PipelineFile, output: Callable[[], str]) -> dict[str, str]:
    assert validate(file, kafka=True, as_json=True)
    return {row["check"]: row["detail"] for row in orjson.loads(output())}


def test_a_pipeline_is_validated_run_and_looked_at(
    bootstrap: str, counts: Document, tmp_path: Path, output: Callable[[], str]
) -> None:
    path, sink = write_pipeline(tmp_path, counts), counts["sink"]
    file = PipelineFile.read(path)
    before = checks(file, output)
    assert before["sink.topic"] == f"{sink['topic']} will be created with 1 partition"
    assert before["sink.partials"] == f"{sink['partials']} will be created with 1 partition"
    assert before["sink.dead_letters"].endswith(" will be created with 2 partitions")
    with pytest.raises(KafkaUnavailable, match="Has the pipeline run yet"):
        peek(file, 10, dead_letters=False, as_json=True)
    produce(bootstrap, counts["source"]["topic"], trips())
    with running(path) as process, closing(KafkaConsumer(bootstrap_servers=bootstrap)) as ends:
        process.wait_until_started()
        assert "2 partitions in 1 shards, of which 1 here" in process.stderr
        process.wait_until(lambda: sum(end_offsets(ends, sink["topic"])) >= len(ZONES) * FULL)
        with pytest.raises(StartRefused, match="is in use by another process"):
            show(file, as_json=True)
        assert not validate(file, kafka=True, as_json=True)
        in_use = [row["check"] for row in orjson.loads(output()) if row["result"] == "in use"]
        assert in_use == ["start"]
        assert process.stop() == 0, process.stderr
    after = checks(file, output)
    assert after["sink.topic"] == f"{sink['topic']}, 1 partition"
    assert after["sink.partials"] == f"{sink['partials']}, 1 partition"
    peek(file, 10, dead_letters=False, as_json=True)
    assert {orjson.loads(line)["key"].encode() for line in output().splitlines()} == set(ZONES)
    peek(file, 10, dead_letters=True, as_json=True)
    assert not output()
    [sums] = (tmp_path / "state" / "merge" / "rows").iterdir()
    sums.write_bytes(sums.read_bytes()[:-1])
    assert "is missing or shorter than the last snapshot says" in refusal_foretold(path)
    show(file, as_json=True)
    assert [part["streams"] for part in orjson.loads(output())] == [2, 2]


def test_topics_that_keep_no_single_order_are_found_before_the_start(
    counts: Document, topics: TopicFactory, tmp_path: Path, output: Callable[[], str]
) -> None:
    counts["sink"] |= {"topic": topics("wide", partitions=2)}
    counts["sink"] |= {"partials": topics("log", partitions=3)}
    path = write_pipeline(tmp_path, counts)
    assert not validate(PipelineFile.read(path), kafka=True, as_json=True)
    rows = orjson.loads(output())
    failed = {row["check"]: row["detail"] for row in rows if row["result"] == "failed"}
    assert set(failed) == {"sink.topic", "sink.partials"}
    assert "has 2 partitions, but aggregates are written in order" in failed["sink.topic"]
    assert "has 3 partitions, but aggregates are written in order" in failed["sink.partials"]
    said = refusal_foretold(path)
    assert all(problem in said for problem in failed.values())


def trips() -> list[Placed]:
    """Two users in each partition, once a second."""
    begin = NOW // SECOND * SECOND
    return [
        Placed(
            user % PARTITIONS, Record(b"user-%d" % user, b'{"zone": "%b", "at": %d}' % (zone, at))
        )
        for tick in range(TICKS)
        for user, zone in enumerate([*ZONES, b"north"])
        for at in [begin + tick * SECOND + 500]
    ]
