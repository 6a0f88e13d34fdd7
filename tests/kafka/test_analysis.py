"""A reader with the sanitized topic alone: the promise beside it, estimates, and files by day."""

import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import orjson
import pytest
from confluent_kafka import Consumer
from kafka import KafkaAdminClient, KafkaConsumer

import fugu
from fugu.analysis import CannotBeEstimated, PromiseAlarm
from fugu.dataflows.analysis.reading import kafka_promises
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.publishing.promise import promises_topic, publish_promise
from tests.kafka.clients import BOTH, connected
from tests.kafka.pipelines import ALPHABET, Document, pipeline_document, running, write_pipeline
from tests.kafka.pipelines import fugu as command
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

pytestmark = [pytest.mark.kafka, pytest.mark.filterwarnings("ignore::fugu.analysis.ModelAlarm")]
USERS, EACH, DAY = 60, 8, 86_400_000
_KILLED = """
import os, signal
from pathlib import Path
from fugu.dataflows.analysis import exporting
from fugu.dataflows.commands.cli.fugu import main

replace, moved = Path.replace, []

def replace_and_die(self, target):
    moved.append(replace(self, target))
    if len(moved) == HOW_MANY:
        os.kill(os.getpid(), signal.SIGKILL)

exporting._AT_ONCE, Path.replace = 70, replace_and_die
main()
"""


@pytest.fixture(scope="module")
def pipeline(
    bootstrap: str, topics: TopicFactory, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A pipeline that has released two days of two partitions, and stopped."""
    source = topics("private", partitions=2)
    rng = np.random.default_rng(1)
    records = [
        Placed(
            user % 2,
            Record(
                b"user-%d" % user,
                orjson.dumps({"zone": ALPHABET[rng.integers(4)]}),
                timestamp=NOW - (EACH - number) * DAY // 4,
            ),
        )
        for number in range(EACH)
        for user in range(USERS)
    ]
    produce(bootstrap, source, records)
    document = pipeline_document(bootstrap, source, f"{source}.sanitized")
    path = write_pipeline(tmp_path_factory.mktemp("pipeline"), document)
    _run(bootstrap, path, document, USERS * EACH)
    return path


def _run(bootstrap: str, path: Path, document: Document, until: int) -> None:
    sink = document["sink"]["topic"]
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer, running(path) as process:
        process.wait_until_started()
        process.wait_until(lambda: sink in consumer.topics())
        process.wait_until(lambda: sum(end_offsets(consumer, sink)) == until)
        assert process.stop() == 0, process.stderr


def sink_of(path: Path) -> str:
    return next(
        line.split("topic:")[1].strip()
        for line in path.read_text().split("sink:")[1].splitlines()
        if "topic:" in line
    )


@pytest.mark.parametrize("library", BOTH)
def test_the_topic_alone_is_read_with_its_promise(
    pipeline: Path, bootstrap: str, library: str
) -> None:
    topic = fugu.read(f"kafka://{bootstrap}/{sink_of(pipeline)}", kafka={"client": library})
    assert topic.promise.pipeline == "heart-zones"
    assert len(topic.records) == USERS * EACH
    [header] = {
        dict(r.headers)["fugu-guarantee"] for r in read_topic(bootstrap, sink_of(pipeline))[0]
    }
    assert topic.promise.guarantee_id.encode() == header
    shares = topic.shares()
    assert shares.table["users"].to_pylist() == [USERS] * 4
    assert shares.table["records"].to_pylist() == [USERS * EACH] * 4


def test_a_consumer_that_runs_is_read_up_to_where_its_topic_ends_now(
    pipeline: Path, bootstrap: str
) -> None:
    sink = sink_of(pipeline)
    topic = fugu.read(f"kafka://{bootstrap}/{sink}")
    expected = topic.records.sort_by("release")
    own = {"group.id": "analyst", "auto.offset.reset": "earliest", "bootstrap.servers": bootstrap}
    native = Consumer(own)
    with (
        closing(native),
        closing(
            KafkaConsumer(sink, bootstrap_servers=bootstrap, auto_offset_reset="earliest")
        ) as consumer,
    ):
        native.subscribe([sink])
        for running_one in (consumer, native):
            found = fugu.read(running_one, promise=topic.promise)
            assert found.records.sort_by("release").to_pylist() == expected.to_pylist()
    with pytest.raises(CannotBeEstimated, match="is nothing that can be read"):
        fugu.read(7, promise=topic.promise)  # type: ignore[arg-type]


def test_the_promise_is_there_once_however_often_the_pipeline_starts(
    pipeline: Path, bootstrap: str
) -> None:
    beside = promises_topic(sink_of(pipeline))
    before = read_topic(bootstrap, beside)
    with running(pipeline) as process:
        process.wait_until_started()
        process.kill()
    assert read_topic(bootstrap, beside) == before
    assert sum(map(len, before.values())) == 1


def test_another_law_begins_where_the_topic_ends(
    pipeline: Path, bootstrap: str, topics: TopicFactory
) -> None:
    client = connected(bootstrap)
    name = topics("sink", partitions=2)
    topics_of(bootstrap, promises_topic(name))
    produce(bootstrap, name, [Placed(1, Record(b"a", b"{}"))] * 3)
    sink = client.topic(name)
    assert sink is not None
    file = PipelineFile.read(pipeline)
    operator = file.pipeline.operator
    for epsilon in (1.0, 1.0, 2.0, 2.0, 1.0):
        other = operator.model_copy(update={"epsilon": epsilon})
        changed = file.replacing(file.pipeline.model_copy(update={"operator": other}))
        publish_promise(client, changed, configure(changed).mechanism, sink)
        produce(bootstrap, name, [Placed(0, Record(b"a", b"{}"))])
    begins = [one.begins for one in kafka_promises(client, name, sink.identity)]
    assert begins == [{}, {"0": 2, "1": 3}, {"0": 4, "1": 3}]
    assert kafka_promises(client, name, "another topic of this name") == []


def test_files_that_are_to_be_kept_back_are_taken_out_of_the_newest_promise(
    pipeline: Path, bootstrap: str, topics: TopicFactory
) -> None:
    client, file = connected(bootstrap), PipelineFile.read(pipeline)
    name, mechanism = topics("sink", partitions=1), configure(file).mechanism
    sink = client.topic(name)
    assert sink is not None
    topics_of(bootstrap, promises_topic(name))

    def publish(mode: str) -> None:
        own = file.pipeline.sink.model_copy(update={"promise": mode})
        changed = file.replacing(file.pipeline.model_copy(update={"sink": own}))
        publish_promise(client, changed, mechanism, sink)

    for mode, held, records in (
        ("none", [], 0),
        ("whole", [True], 1),
        ("without_files", [False], 2),
        ("without_files", [False], 2),
        ("none", [False], 2),
    ):
        publish(mode)
        found = kafka_promises(client, name, sink.identity)
        assert [one.files["model.json"].content is not None for one in found] == held
        assert len({one.key for one in found}) == len(held)
        assert sum(map(len, read_topic(bootstrap, promises_topic(name)).values())) == records


def topics_of(bootstrap: str, name: str) -> None:
    """Create a compacted topic with exactly this name."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        layout = {
            "num_partitions": 1,
            "replication_factor": 1,
            "configs": {"cleanup.policy": "compact"},
        }
        admin.create_topics({name: layout}, wait_for_metadata=True)


def test_files_are_the_same_after_a_kill_in_the_middle(
    pipeline: Path, bootstrap: str, tmp_path: Path
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    export(pipeline, whole, kill=0)
    for kill in (2, 4):
        assert export(pipeline, killed, kill=kill) == -9
    export(pipeline, killed, kill=0)
    assert content(killed) == content(whole)
    assert len(content(whole)) > 4
    topic = fugu.read(whole)
    live = fugu.read(f"kafka://{bootstrap}/{sink_of(pipeline)}")
    assert topic.records.schema == live.records.schema
    assert topic.records.to_pylist() == live.records.to_pylist()
    export(pipeline, whole, kill=0)
    assert content(killed) == content(whole)


def export(pipeline: Path, folder: Path, kill: int) -> int:
    """Export in ranges of 70 offsets, and die after so many files have their names."""
    program = _KILLED.replace("HOW_MANY", str(kill))
    done = subprocess.run(
        [sys.executable, "-c", program, "export", pipeline, "--to", folder], check=False
    )
    assert done.returncode in (0, -9)
    return done.returncode


def content(folder: Path) -> dict[str, bytes]:
    """Every finished file, by its place in the folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(".unfinished")
    }


def test_a_sample_of_the_private_topic_holds_whole_users_and_is_evaluated(
    pipeline: Path, tmp_path: Path
) -> None:
    sample = tmp_path / "zones.jsonl"
    said = command("sample", pipeline, "--to", sample, "--users", "20", "--records", str(EACH - 1))
    assert "keep the file in the trusted zone" in " ".join(said.split())
    assert sample.stat().st_mode & 0o077 == 0
    lines = [orjson.loads(line) for line in sample.read_bytes().splitlines()]
    counted = Counter(line["key"] for line in lines)
    assert len(counted) == 20
    assert set(counted.values()) == {EACH - 1}
    assert {name for line in lines for name in line} == {"key", "zone"}
    options = ("--sample", sample, "--runs", "1", "--rivals", "grr", "--json")
    measured = orjson.loads(command("evaluate", pipeline, *options))
    assert measured["sample"]["records"] == len(lines)
    assert any("Keep it inside" in note for note in measured["notes"])


def test_a_topic_without_a_promise_is_read_with_that_of_the_file(
    pipeline: Path, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    old = topics("old", partitions=2)
    produce(
        bootstrap,
        old,
        [
            Placed(partition, record)
            for partition, records in read_topic(bootstrap, sink_of(pipeline)).items()
            for record in records
        ],
    )
    with pytest.raises(CannotBeEstimated, match="fugu explain PIPELINE --json"):
        fugu.read(f"kafka://{bootstrap}/{old}")
    given = tmp_path / "promise.json"
    given.write_text(command("explain", pipeline, "--json"))
    read = fugu.read(f"kafka://{bootstrap}/{old}", promise=given)
    assert len(read.records) == USERS * EACH
    assert read.shares().table["estimate"].to_pylist() == (
        fugu.read(f"kafka://{bootstrap}/{sink_of(pipeline)}").shares().table["estimate"].to_pylist()
    )


def test_an_epsilon_that_a_stranger_wrote_beside_the_topic_is_not_shown(
    pipeline: Path, bootstrap: str
) -> None:
    sink = sink_of(pipeline)
    address = f"kafka://{bootstrap}/{sink}"
    genuine = fugu.read(address).promise
    claimed = [{**one, "epsilon": 0.001} for one in genuine.guarantees]
    lie = genuine.model_copy(
        update={"guarantees": claimed, "text": "nobody learns anything\x1b[2J"}
    )
    promises = promises_topic(sink)
    try:
        produce(bootstrap, promises, [Placed(0, Record(lie.key, lie.value()))])
        with pytest.warns(PromiseAlarm, match="other things than follow from its law"):
            promise = fugu.read(address).promise
    finally:
        produce(bootstrap, promises, [Placed(0, Record(genuine.key, genuine.value()))])
    assert promise == genuine
    assert "nobody learns anything" not in f"{promise!r}"
