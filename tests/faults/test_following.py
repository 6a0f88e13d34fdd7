"""A pipeline that follows added partitions moves its streams by itself, with every budget."""

from pathlib import Path

import pytest

from fugu.dataflows.base.errors import NO_RESTART_HELPS
from tests.faults.killing import killed_inside
from tests.faults.test_repartition import (
    FEW,
    MANY,
    USERS,
    by_murmur2,
    check_one_budget_each,
    extend,
    prepared,
    send,
)
from tests.kafka.pipelines import MEMORYLESS, Document, RunningPipeline, running, write_pipeline
from tests.kafka.records import read_topic
from tests.kafka.topics import TopicFactory


def following(bootstrap: str, topics: TopicFactory, tmp_path: Path) -> tuple[Document, Path]:
    """A pipeline that follows."""
    document, _ = prepared(bootstrap, topics, tmp_path)
    document["source"]["partitions"] = "follow"
    return document, write_pipeline(tmp_path, document, MEMORYLESS)


def wait_for(
    process: RunningPipeline, bootstrap: str, document: Document, releases: int, dead: int = 0
) -> None:
    """Wait until so much is published."""
    sink = document["sink"]

    def published() -> bool:
        found = (read_topic(bootstrap, sink[name]) for name in ("topic", "dead_letters"))
        return [sum(map(len, one.values())) for one in found] == [releases, dead]

    process.wait_until(published)


@pytest.mark.parametrize(
    "in_a_folder",
    [False, pytest.param(True, marks=pytest.mark.acceptance)],
    ids=["alone", "folder"],
)
def test_partitions_added_while_it_runs_are_followed(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, in_a_folder: bool
) -> None:
    document, pipeline = following(bootstrap, topics, tmp_path)
    before, after = by_murmur2(FEW), by_murmur2(MANY)
    elsewhere = [key for key in USERS if before(key) != after(key) < FEW]
    send(bootstrap, document, before, 3)
    with running(pipeline.parent if in_a_folder else pipeline) as process:
        wait_for(process, bootstrap, document, 3 * len(USERS))
        extend(bootstrap, document["source"]["topic"])
        send(bootstrap, document, after, 2)
        process.wait_until(lambda: "moved" in process.stderr)
        dead = 2 * len(elsewhere)
        wait_for(process, bootstrap, document, 5 * len(USERS), dead)
        send(bootstrap, document, after, 3)
        wait_for(process, bootstrap, document, 8 * len(USERS), dead)
        assert process.stop() == 0
    assert f"{dead} records that were refused as wrong_partition" in process.stderr
    assert not (tmp_path / "state" / "following.json").exists()
    assert "starting again" in process.stderr
    assert f"this pipeline knows {FEW}" in process.stderr
    releases = check_one_budget_each(bootstrap, document, pipeline)
    assert set(releases.values()) == {8}


@pytest.mark.acceptance
def test_a_start_follows_what_was_added_and_a_supervisor_does_it_for_all_processes(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document, pipeline = following(bootstrap, topics, tmp_path)
    send(bootstrap, document, by_murmur2(FEW), 3)
    with running(pipeline) as process:
        wait_for(process, bootstrap, document, 3 * len(USERS))
        assert process.stop() == 0
    extend(bootstrap, document["source"]["topic"])
    send(bootstrap, document, by_murmur2(MANY), 2)

    killed_inside("renamed", 6, "run", pipeline)
    with running(pipeline, "--processes", "2") as process:
        wait_for(process, bootstrap, document, 5 * len(USERS))
        extend(bootstrap, document["source"]["topic"], MANY + 2)
        process.wait_until(lambda: "starting again" in process.stderr)
        send(bootstrap, document, by_murmur2(MANY + 2), 2)
        wait_for(process, bootstrap, document, 7 * len(USERS))
        assert process.stop() == 0
    assert "as was begun" in process.stderr
    check_one_budget_each(bootstrap, document, pipeline)


def test_what_was_refused_is_driven_again_wherever_the_start_is_killed(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document, pipeline = following(bootstrap, topics, tmp_path)
    document["source"]["partitions"] = "fixed"
    before, after = by_murmur2(FEW), by_murmur2(MANY)
    unmoved = sum(before(key) == after(key) for key in USERS)
    dead = sum(before(key) != after(key) < FEW for key in USERS)
    send(bootstrap, document, before, 3)
    with running(write_pipeline(tmp_path, document, MEMORYLESS)) as process:
        wait_for(process, bootstrap, document, 3 * len(USERS))
        extend(bootstrap, document["source"]["topic"])
        send(bootstrap, document, after, 1)
        wait_for(process, bootstrap, document, 3 * len(USERS) + unmoved, dead)
        assert process.stop() == 0

    document["source"]["partitions"] = "follow"
    write_pipeline(tmp_path, document, MEMORYLESS)
    killed_inside("renamed", 14, "run", pipeline)
    killed_inside("renamed", 6, "run", pipeline)
    with running(pipeline) as process:
        wait_for(process, bootstrap, document, 4 * len(USERS), dead)
        assert process.stop() == 0
    assert set(check_one_budget_each(bootstrap, document, pipeline).values()) == {4}


def test_where_nobody_knows_which_keys_have_moved_a_pipeline_stops(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document, _ = following(bootstrap, topics, tmp_path)
    document["source"] |= {"partitions": "fixed", "partitioner": "unchecked"}
    send(bootstrap, document, by_murmur2(FEW), 1)
    with running(write_pipeline(tmp_path, document, MEMORYLESS)) as process:
        wait_for(process, bootstrap, document, len(USERS))
        extend(bootstrap, document["source"]["topic"])
        assert process.exit_code() == NO_RESTART_HELPS
    assert "a key that moved would get a second budget" in process.stderr


@pytest.mark.acceptance
def test_a_move_that_is_refused_is_said_and_the_pipeline_goes_on(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document, pipeline = following(bootstrap, topics, tmp_path)
    document["sink"]["create"] = False
    write_pipeline(tmp_path, document, MEMORYLESS)
    send(bootstrap, document, by_murmur2(FEW), 1)
    with running(pipeline) as process:
        wait_for(process, bootstrap, document, len(USERS))
        extend(bootstrap, document["source"]["topic"])
        process.wait_until(lambda: "kafka-topics.sh --alter" in process.stderr)
        unmoved = [key for key in USERS if by_murmur2(FEW)(key) == by_murmur2(MANY)(key)]
        send(bootstrap, document, by_murmur2(MANY), 1)
        elsewhere = sum(by_murmur2(FEW)(key) != by_murmur2(MANY)(key) < FEW for key in USERS)
        wait_for(process, bootstrap, document, len(USERS) + len(unmoved), elsewhere)
        assert process.stop() == 0
    assert process.stderr.count("starting again") == 1
