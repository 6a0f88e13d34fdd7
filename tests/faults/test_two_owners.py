"""Copies of one state: whichever is started last goes on, and no other one beside it."""

import shutil
import time
from pathlib import Path

import pytest

from fugu.dataflows.base.errors import NO_RESTART_HELPS
from tests.faults.killing import killed_inside
from tests.kafka.clients import BOTH
from tests.kafka.established import Established, established, records, wait_until_published
from tests.kafka.pipelines import fugu, refusal, running
from tests.kafka.records import Record, produce, read_topic
from tests.kafka.topics import TopicFactory
from tests.thinned import first_in_test

MORE = 400
OWNERS = first_in_test([("librdkafka", True), *((library, False) for library in BOTH)], 1)
STEPS = [
    "a claim noted",
    "a claim appended",
    "a claim counts",
    "older claims withdrawn",
]

owners = pytest.mark.parametrize(("library", "transactions"), OWNERS)


@pytest.fixture
def first(bootstrap: str, topics: TopicFactory, tmp_path: Path) -> Established:
    return established(bootstrap, topics, tmp_path / "first")


def with_kafka(pipeline: Established, library: str, transactions: bool) -> Path:
    """The pipeline file, for this client."""
    kafka = {**pipeline.document["kafka"], "client": library}
    pipeline.document["kafka"] = {**kafka, "transactions": True} if transactions else kafka
    return pipeline.write()


def released(pipeline: Established) -> dict[int, list[Record]]:
    """Return what is released, by partition; identical copies count once."""
    topic = read_topic(pipeline.bootstrap, pipeline.sink)
    return {partition: list(dict.fromkeys(found)) for partition, found in topic.items()}


def count(pipeline: Established) -> int:
    return sum(map(len, released(pipeline).values()))


@owners
def test_an_older_copy_is_refused_and_publishes_nothing(
    library: str, transactions: bool, first: Established, tmp_path: Path
) -> None:
    copy = first.copied_to(tmp_path / "copy")
    with running(with_kafka(first, library, transactions)) as process:
        assert process.stop() == 0, process.stderr
    produce(first.bootstrap, first.source, records(40, MORE))
    before = first.published()
    said = refusal(with_kafka(copy, library, transactions))
    assert "pipeline heart-zones, shard 0, was taken over on " in said
    assert "with another copy of this state" in said
    assert "fugu state claim PIPELINE" in said
    assert first.published() == before


@owners
def test_a_claim_stops_who_runs_and_everything_is_released_as_by_one_owner(
    library: str, transactions: bool, first: Established, tmp_path: Path
) -> None:
    copy = first.copied_to(tmp_path / "copy")
    with running(with_kafka(first, library, transactions)) as process:
        process.wait_until_started()
        produce(first.bootstrap, first.source, records(40, MORE))
        path = with_kafka(copy, library, transactions)
        assert "goes on here" in fugu("state", "claim", path)
        with running(path) as other:
            assert process.exit_code() == NO_RESTART_HELPS, process.stderr
            assert "has taken over pipeline heart-zones, shard 0" in process.stderr
            wait_until_published(other, copy, 40 + MORE)
            other.wait_until(lambda: count(copy) == 40 + MORE)
            assert other.stop() == 0, other.stderr
    assert count(copy) == 40 + MORE
    assert "was taken over" in refusal(first.write())
    with running(path) as again:
        assert again.stop() == 0, again.stderr


def test_who_runs_over_nothing_new_is_stopped_too(first: Established, tmp_path: Path) -> None:
    copy = first.copied_to(tmp_path / "copy")
    with running(first.write()) as process:
        process.wait_until_started()
        fugu("state", "claim", copy.write())
        assert process.exit_code() == NO_RESTART_HELPS, process.stderr


def test_the_same_directory_goes_on_after_every_kill(first: Established) -> None:
    for begun in range(5):
        with running(first.write()) as process:
            produce(first.bootstrap, first.source, records(40 + 20 * begun, 20))
            wait_until_published(process, first, 60 + 20 * begun)
            process.kill()
    with running(first.write()) as process:
        assert process.stop() == 0, process.stderr
    assert count(first) == first.published() == 140


def test_of_two_equal_copies_that_start_at_once_exactly_one_goes_on(
    first: Established, tmp_path: Path
) -> None:
    copy = first.copied_to(tmp_path / "copy")
    produce(first.bootstrap, first.source, records(40, MORE))
    with running(first.write()) as one, running(copy.write()) as other:
        deadline = time.monotonic() + 60
        while one.process.poll() is None and other.process.poll() is None:
            assert time.monotonic() < deadline, "both go on"
            time.sleep(0.05)
        loser, winner = (one, other) if one.process.poll() is not None else (other, one)
        assert loser.exit_code() == NO_RESTART_HELPS, loser.stderr
        winner.wait_until(lambda: count(first) == 40 + MORE)
        assert winner.stop() == 0, winner.stderr


@pytest.mark.parametrize("step", first_in_test(STEPS, 1))
def test_killed_in_the_middle_of_a_claim_it_goes_on_and_an_older_copy_does_not(
    step: str, first: Established, tmp_path: Path
) -> None:
    copy, path = first.copied_to(tmp_path / "copy"), first.write()
    for _ in range(2):
        killed_inside(step, 1, "run", path)
    produce(first.bootstrap, first.source, records(40, MORE))
    with running(path) as process:
        process.wait_until(lambda: count(first) == 40 + MORE)
        assert process.stop() == 0, process.stderr
    assert "was taken over" in refusal(copy.write())


def test_an_imported_state_goes_on_and_the_one_it_came_from_does_not(
    first: Established, tmp_path: Path
) -> None:
    there = first.copied_to(tmp_path / "there")
    shutil.rmtree(there.directory / "state")
    fugu("state", "export", first.write(), tmp_path / "state.tar.gz")
    fugu("state", "import", there.write(), tmp_path / "state.tar.gz")
    with running(there.write()) as process:
        assert process.stop() == 0, process.stderr
    assert "was taken over" in refusal(first.write())
