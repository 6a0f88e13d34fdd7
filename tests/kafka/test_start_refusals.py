"""A start that could repeat or forget releases is refused with one clear error, and no more."""

import shutil
import signal
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import orjson
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from typer.testing import CliRunner

from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.state.fingerprint import FORMAT
from fugu.dataflows.state.row_block import BLOCK_FORMAT
from tests.kafka.established import (
    RECORDS,
    Established,
    established,
    records,
    wait_until_published,
)
from tests.kafka.foretold import refusal_foretold
from tests.kafka.pipelines import (
    OTHER_SECRET,
    PATIENCE_SECONDS,
    SECRET,
    SECRET_VARIABLE,
    Document,
    fugu,
    running,
)
from tests.kafka.records import partitions_of, produce
from tests.kafka.topics import TopicFactory
from tests.thinned import first_in_test

LENGTH_BYTES = 8
DIGEST_BYTES = 32
OTHER_VARIABLE, OTHER_SOURCE = "FUGU_OTHER_SECRET", "refusals-other-source"


@pytest.fixture(scope="module")
def original(
    bootstrap: str, topics: TopicFactory, tmp_path_factory: pytest.TempPathFactory
) -> Established:
    return established(bootstrap, topics, tmp_path_factory.mktemp("established") / "pipeline")


@pytest.fixture
def pipeline(original: Established, tmp_path: Path) -> Established:
    """A copy that may be damaged; its topics may not. It goes on, whatever copies were before."""
    copy = original.copied_to(tmp_path / "pipeline")
    fugu("state", "claim", copy.write())
    return copy


def _remove(name: str) -> Callable[[Path], None]:
    return lambda state: shutil.rmtree(state / name) if name != "." else shutil.rmtree(state)


def _damage_store(state: Path) -> None:
    [part] = (state / "recovery").iterdir()
    part.write_bytes(part.read_bytes()[:9000])


def _damage_rows(state: Path) -> None:
    for log in (state / "rows").iterdir():
        content = bytearray(log.read_bytes())
        content[-40] ^= 1
        log.write_bytes(content)


def _damage_pointers(state: Path) -> None:
    [part] = (state / "recovery").iterdir()
    with closing(sqlite3.connect(part)) as database, database:
        database.execute("UPDATE snaps SET ser_change = X'80045D2E'")


def _cut_exchange_short(state: Path) -> None:
    (state.parent / "exchange.json").write_bytes(b'{"command": "fugu migrate"}')


def _newer_fingerprint(state: Path) -> None:
    _change_fingerprint(state, format=FORMAT + 1)


def _newer_rows(state: Path) -> None:
    """Whole and sound, but of format 9."""
    for log in (state / "rows").iterdir():
        content = log.read_bytes()
        end = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES], "little")
        block = content[LENGTH_BYTES : end - DIGEST_BYTES]
        block = block.replace(b'"format":%d' % BLOCK_FORMAT, b'"format":9', 1)
        block += blake2b(block, digest_size=DIGEST_BYTES).digest()
        log.write_bytes(content[:LENGTH_BYTES] + block + content[end:])


@pytest.mark.parametrize(
    ("damage", "says"),
    first_in_test(
        [
            (_remove("."), "already holds records, but there is no state for them"),
            (_remove("recovery"), "recovery is missing although the pipeline ran before"),
            (_remove("rows"), "is missing or shorter than the last snapshot says"),
            (lambda state: (state / "fingerprint.json").unlink(), "fingerprint.json is missing"),
            (
                lambda state: (state / "fingerprint.json").write_bytes(b"{"),
                "fingerprint.json is damaged",
            ),
            (_damage_store, "recovery cannot be used: it is damaged"),
            (_damage_rows, "the stored state is damaged (checksum)"),
            (_damage_pointers, "recovery cannot be used: it is damaged"),
            (
                lambda state: (state / "lease.json").write_bytes(b"{"),
                "lease.json is damaged. If no",
            ),
            (
                lambda state: (state / "finishing").write_bytes(b""),
                "Run it with --finish once more",
            ),
            (_cut_exchange_short, "Run fugu migrate once more; it completes what was begun"),
            (_newer_fingerprint, f"has format {FORMAT + 1}: another version of Fugu wrote it"),
            (_newer_rows, "has format 9: another version of Fugu wrote it"),
        ],
        7,
    ),
    ids=[
        "no state",
        "no store",
        "no rows",
        "no fingerprint",
        "bad fingerprint",
        "bad store",
        "bad rows",
        "bad pointers",
        "bad lease",
        "finishing",
        "exchanging",
        "newer fingerprint",
        "newer rows",
    ],
)
def test_a_state_that_is_not_whole_is_refused(
    damage: Callable[[Path], None], says: str, pipeline: Established
) -> None:
    before = pipeline.published()
    damage(pipeline.state)
    assert says in refusal_foretold(pipeline.write())
    assert pipeline.published() == before


def test_a_state_of_another_version_of_fugu_is_refused(pipeline: Established) -> None:
    stored = orjson.loads((pipeline.state / "fingerprint.json").read_bytes())
    now, steps = stored["implementation"], stored["steps"]
    renamed = [step.upper() for step in steps]
    _change_fingerprint(pipeline.state, implementation=now + 1, steps=renamed)
    before = pipeline.published(), _content(pipeline.state)
    said = refusal_foretold(pipeline.write())
    assert f"implementation changed (was {now + 1}, is {now}): another version of Fugu" in said
    assert f"steps changed (was {renamed}, is {steps}): " in said
    assert "run the version that wrote the state" in said
    assert (pipeline.published(), _content(pipeline.state)) == before


def test_the_state_of_another_pipeline_is_refused(
    original: Established, pipeline: Established, topics: TopicFactory
) -> None:
    before = original.published(), _content(pipeline.state)
    pipeline.document["name"] = "steps-per-hour"
    pipeline.document["sink"]["topic"] = topics("other", partitions=2)
    said = refusal_foretold(pipeline.write())
    assert "pipeline changed (was heart-zones, is steps-per-hour): this state belongs to" in said
    assert f"sink_topic changed (was {original.sink}, is {pipeline.sink})" in said
    assert (original.published(), _content(pipeline.state)) == before
    assert pipeline.published() == 0


def test_a_second_process_is_refused_while_the_first_one_runs(pipeline: Established) -> None:
    path = pipeline.write()
    with running(path) as first:
        first.wait_until_started()
        said = refusal_foretold(path, alone=False)
        assert "is in use by another process. Stop it first" in said
        assert first.stop() == 0


def test_a_state_that_is_whole_is_continued(pipeline: Established) -> None:
    before = pipeline.published()
    produce(pipeline.bootstrap, pipeline.source, records(before, 10))
    with running(pipeline.write()) as process:
        wait_until_published(process, pipeline, before + 10)
        assert process.stop() == 0
    assert pipeline.published() == before + 10


def test_records_that_retention_removed_before_they_were_read_are_missed(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    pipeline = established(bootstrap, topics, tmp_path)
    produce(bootstrap, pipeline.source, records(RECORDS, 20))
    _forget(bootstrap, {TopicPartition(pipeline.source, 1): RECORDS // 2 + 5})
    said = refusal_foretold(pipeline.write())
    assert f"topic {pipeline.source}, partition 1: the next record to read has offset 20" in said
    assert "Retention removed records" in said
    assert pipeline.published() == RECORDS


@pytest.mark.acceptance
def test_a_sink_that_lost_what_a_replay_must_recognise_is_refused(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    pipeline = established(bootstrap, topics, tmp_path)
    produce(bootstrap, pipeline.sink, records(0, 1))
    _forget(bootstrap, {TopicPartition(pipeline.sink, 0): RECORDS // 2 + 1})
    produce(bootstrap, pipeline.source, records(RECORDS, 2))
    said = refusal_foretold(pipeline.write())
    assert "partition 0: the last snapshot ends at offset 20" in said
    assert "releases that were already published cannot be recognised" in said
    path = pipeline.write()
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.delete_topics([pipeline.sink])
        layout = {"num_partitions": 2, "replication_factor": 1}
        admin.create_topics({pipeline.sink: layout}, wait_for_metadata=True)
    fugu("migrate", path, path)
    with running(path) as process:
        wait_until_published(process, pipeline, 2)
        assert process.stop() == 0, process.stderr


def test_topics_that_were_created_anew_are_refused(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    pipeline = established(bootstrap, topics, tmp_path)
    names = [pipeline.source, pipeline.sink, pipeline.dead_letters]
    layout = {"num_partitions": 2, "replication_factor": 1}
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.delete_topics(names)
        admin.create_topics(dict.fromkeys(names, layout), wait_for_metadata=True)
    said = refusal_foretold(pipeline.write())
    for field in ("source_identity", "sink_identity", "dead_letters_identity"):
        assert f"{field} changed" in said
    assert pipeline.published() == 0


def test_partitions_that_were_added_are_refused_where_nobody_knows_which_keys_moved(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    pipeline = established(bootstrap, topics, tmp_path)
    _extend(bootstrap, [pipeline.source], partitions=3)
    said = refusal_foretold(pipeline.write())
    assert "has 3 partitions, and this pipeline knows 2" in said
    assert "a key that moved would get a second budget" in said
    assert pipeline.published() == RECORDS


def _change_fingerprint(state: Path, **fields: object) -> None:
    path = state / "fingerprint.json"
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | fields))


def _content(state: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in state.rglob("*") if path.is_file()}


def _forget(bootstrap: str, before: dict[TopicPartition, int]) -> None:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.delete_records(before)
    _wait_until(bootstrap, lambda consumer: consumer.beginning_offsets(list(before)) == before)


def _extend(bootstrap: str, names: list[str], *, partitions: int) -> None:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_partitions(dict.fromkeys(names, partitions))
    _wait_until(
        bootstrap, lambda it: all(len(partitions_of(it, name)) == partitions for name in names)
    )


def _wait_until(bootstrap: str, reached: Callable[[KafkaConsumer], bool]) -> None:
    """Wait until others see what an administrator did, before a pipeline starts."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        while not reached(consumer):
            assert time.monotonic() < deadline, "the broker does not show what was changed"
            consumer.topics()


CHANGES: dict[str, Callable[[Document], object]] = {
    "law changed": lambda document: document["operator"].update(epsilon=0.5),
    "budget.total": lambda document: document.update(budget={"total": 0.5}),
    "reading changed": lambda document: document["source"].update(value="place"),
    "version changed": lambda document: document.update(version=2),
    "sink_key changed": lambda document: document["sink"].update(key="original"),
    "sink_topic changed": lambda document: document["sink"].update(topic="elsewhere"),
    "dead_letters_topic changed": lambda document: document["sink"].update(dead_letters="gone"),
    "ledger_topic changed": lambda document: document.update(
        ledger={"topic": "promises", "create": True}
    ),
    "pipeline changed": lambda document: document.update(name="another"),
    "shards changed": lambda document: document["state"].update(shards=2),
    "secret_check changed": lambda document: document.update(secret={"env": OTHER_VARIABLE}),
    "source_topic changed": lambda document: document["source"].update(topic=OTHER_SOURCE),
    "does not exist": lambda document: document["source"].update(topic="no-such-topic"),
    "no state for them": lambda document: document["state"].update(directory="nowhere"),
    "would have none": lambda document: document["state"].update(shards=3),
    "cannot be used (Not a directory)": lambda document: document["state"].update(
        directory="model.json/state"
    ),
    "(state.control) cannot be used": lambda document: (
        document["state"].update(control="nowhere"),
        document["sink"].update(create=False),
    ),
    "ledger.topic) does not exist": lambda document: document.update(ledger={"topic": "nowhere"}),
}


@pytest.mark.parametrize("says", first_in_test(CHANGES, 3))
def test_a_changed_file_is_refused_and_validate_says_so_before(
    says: str, pipeline: Established, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OTHER_VARIABLE, OTHER_SECRET)
    with closing(KafkaConsumer(bootstrap_servers=pipeline.bootstrap)) as consumer:
        there = consumer.topics()
    if OTHER_SOURCE not in there:
        with KafkaAdminClient(bootstrap_servers=pipeline.bootstrap) as admin:
            admin.create_topics({OTHER_SOURCE: {"num_partitions": 2, "replication_factor": 1}})
    CHANGES[says](pipeline.document)
    assert says in refusal_foretold(pipeline.write())


def test_a_state_that_another_copy_took_over_is_refused(pipeline: Established) -> None:
    copy = pipeline.copied_to(pipeline.directory.with_name("copy"))
    fugu("state", "claim", copy.write())
    assert "was taken over on" in refusal_foretold(pipeline.write())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--shard", "2/4"], "--shard 2/4: write NUMBER/1"),
        (["--processes", "2"], "--processes 2: write 1, because a shard runs in one process"),
        (["--processes", "1", "--finish"], "leave --shard and --finish out"),
        (["--finish"], "--finish: crr holds nothing back that could be published"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: list[str], says: str, pipeline: Established
) -> None:
    assert says in refusal_foretold(pipeline.write(), *options)


def test_a_port_that_is_taken_is_refused(pipeline: Established) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        pipeline.document["metrics"] = {"port": port}
        said = refusal_foretold(pipeline.write())
    assert f"metrics: cannot listen on 127.0.0.1:{port} (Address already in use)" in said


def test_a_state_that_runs_in_several_processes_is_in_use(pipeline: Established) -> None:
    path = pipeline.write()
    with running(path, "--processes", "1") as process:
        process.wait_until(lambda: "process 0 runs partitions" in process.stderr)
        for options in ([], ["--processes", "1"], ["--shard", "0/1"]):
            arguments = ["validate", str(path), "--kafka", "--json", *options]
            ended = CliRunner().invoke(app, arguments, env={SECRET_VARIABLE: SECRET})
            results = {row["check"]: row["result"] for row in orjson.loads(ended.stdout)}
            assert (ended.exit_code, results["start"]) == (1, "in use"), ended.stdout
        process.process.send_signal(signal.SIGTERM)
        assert process.exit_code() == 0, process.stderr
