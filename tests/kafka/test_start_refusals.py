"""A start that could repeat or forget releases is refused with one clear error, and no more."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, TopicPartition

from tests.kafka.established import (
    RECORDS,
    Established,
    established,
    records,
    wait_until_published,
)
from tests.kafka.pipelines import refusal, running
from tests.kafka.records import produce
from tests.kafka.topics import TopicFactory


@pytest.fixture(scope="module")
def original(
    bootstrap: str, topics: TopicFactory, tmp_path_factory: pytest.TempPathFactory
) -> Established:
    return established(bootstrap, topics, tmp_path_factory.mktemp("established") / "pipeline")


@pytest.fixture
def pipeline(original: Established, tmp_path: Path) -> Established:
    """A copy that may be damaged; its topics may not."""
    return original.copied_to(tmp_path / "pipeline")


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


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_remove("."), "already holds records, but there is no state for them"),
        (_remove("recovery"), "recovery is missing although the pipeline ran before"),
        (lambda state: (state / "fingerprint.json").unlink(), "fingerprint.json is missing"),
        (lambda state: (state / "fingerprint.json").write_bytes(b"{"), "is damaged or of another"),
        (_damage_store, "recovery cannot be used: it is damaged"),
        (_damage_rows, "the stored state is damaged (checksum)"),
    ],
    ids=["no state", "no store", "no fingerprint", "bad fingerprint", "bad store", "bad rows"],
)
def test_a_state_that_is_not_whole_is_refused(
    damage: Callable[[Path], None], says: str, pipeline: Established
) -> None:
    before = pipeline.published()
    damage(pipeline.state)
    assert says in refusal(pipeline.write())
    assert pipeline.published() == before


def test_a_second_process_is_refused_while_the_first_one_runs(pipeline: Established) -> None:
    path = pipeline.write()
    with running(path) as first:
        first.wait_until_started()
        assert "is in use by another process. Stop it first" in refusal(path)
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
    said = refusal(pipeline.write())
    assert f"topic {pipeline.source}, partition 1: the next record to read has offset 20" in said
    assert "Retention removed records" in said
    assert pipeline.published() == RECORDS


def test_a_sink_that_lost_what_a_replay_must_recognise_is_refused(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    pipeline = established(bootstrap, topics, tmp_path)
    produce(bootstrap, pipeline.sink, records(0, 2))
    _forget(bootstrap, {TopicPartition(pipeline.sink, 0): RECORDS // 2 + 1})
    produce(bootstrap, pipeline.source, records(RECORDS, 2))
    said = refusal(pipeline.write())
    assert "partition 0: the last snapshot ends at offset 20" in said
    assert "releases that were already published cannot be recognised" in said


def test_topics_that_were_created_anew_are_refused(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    pipeline = established(bootstrap, topics, tmp_path)
    names = [pipeline.source, pipeline.sink, pipeline.dead_letters]
    layout = {"num_partitions": 2, "replication_factor": 1}
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.delete_topics(names)
        admin.create_topics(dict.fromkeys(names, layout), wait_for_metadata=True)
    said = refusal(pipeline.write())
    for field in ("source_identity", "sink_identity", "dead_letters_identity"):
        assert f"{field} changed" in said
    assert pipeline.published() == 0


def _forget(bootstrap: str, before: dict[TopicPartition, int]) -> None:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.delete_records(before)
