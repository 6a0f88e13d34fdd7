"""Topics that are deleted and created again: nothing is committed across that, in either store."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import KafkaAdminClient

from fugu.dataflows.base.errors import NO_RESTART_HELPS, StartRefused
from fugu.dataflows.flows.state_in_kafka import SETTINGS
from tests.faults.copies import FEW, House, copied_document, take_in
from tests.faults.feeding import document_with_topics
from tests.kafka.pipelines import (
    MEMORYLESS,
    Document,
    RunningPipeline,
    check_refusal,
    running,
    write_pipeline,
)
from tests.kafka.records import Placed, Record, produce, read_topic
from tests.kafka.test_users_in_fields import document_of
from tests.kafka.topics import TopicFactory, make_anew

SESSION_SECONDS = 11.0
"""Longer than a copy is missed by its group."""
LATER = 2 * FEW


def feed(bootstrap: str, source: str, count: int, key: str = "user") -> None:
    records = [
        Placed(0, Record(f"{key}-{n % 7}".encode(), b'{"zone": "rest"}')) for n in range(count)
    ]
    produce(bootstrap, source, records)


def released(bootstrap: str, document: Document) -> list[Record]:
    return read_topic(bootstrap, document["sink"]["topic"])[0]


@pytest.fixture(params=["kafka", "disk"])
def document(request: pytest.FixtureRequest, bootstrap: str, topics: TopicFactory) -> Document:
    source = topics("private")
    if request.param == "kafka":
        return copied_document(bootstrap, topics, source, partitions=1)
    document = document_with_topics(bootstrap, topics, source, partitions=1)
    document["state"]["every"] = "200ms"
    return document


def running_on(
    bootstrap: str, document: Document, process: RunningPipeline, records: int = FEW
) -> None:
    """Let a pipeline release some records."""
    feed(bootstrap, document["source"]["topic"], records)
    process.wait_until(lambda: len(released(bootstrap, document)) == records)


@pytest.mark.parametrize("seconds", [SESSION_SECONDS, 0.0])
def test_a_source_that_is_made_anew_while_the_process_stands_still_is_not_read(
    seconds: float, bootstrap: str, document: Document, tmp_path: Path
) -> None:
    """It has more records than were read of the old one, so the position is one of its own.

    On disk releases are not committed with positions: without a pause, some may be out by then.
    """
    most = FEW + LATER if seconds == 0.0 and document["state"].get("store") != "kafka" else FEW
    pipeline, source = write_pipeline(tmp_path, document, MEMORYLESS), document["source"]["topic"]
    with running(pipeline) as process:
        running_on(bootstrap, document, process)
        process.process.send_signal(signal.SIGSTOP)
        make_anew(bootstrap, source)
        feed(bootstrap, source, LATER, "other")
        time.sleep(seconds)
        process.process.send_signal(signal.SIGCONT)
        said = check_refusal(process)
        assert process.exit_code() == NO_RESTART_HELPS
    assert f"source_identity changed (topic {source}" in said
    count = len(released(bootstrap, document))
    assert FEW <= count <= most
    with running(pipeline) as process:
        assert "source_identity changed" in check_refusal(process)
    assert len(released(bootstrap, document)) == count


def test_an_idle_pipeline_is_stopped_once_its_sink_is_made_anew(
    bootstrap: str, document: Document, tmp_path: Path
) -> None:
    pipeline = write_pipeline(tmp_path, document, MEMORYLESS)
    with running(pipeline) as process:
        running_on(bootstrap, document, process)
        make_anew(bootstrap, document["sink"]["topic"])
        said = check_refusal(process)
        assert process.exit_code() == NO_RESTART_HELPS
    assert "sink_identity changed" in said
    assert "fugu migrate PIPELINE PIPELINE goes on with the new one and all budgets" in said
    assert released(bootstrap, document) == []


def test_a_state_topic_that_is_made_anew_under_a_running_copy_ends_it(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document = copied_document(bootstrap, topics, topics("private"), partitions=1)
    pipeline = write_pipeline(tmp_path, document, MEMORYLESS)
    with running(pipeline) as process:
        running_on(bootstrap, document, process)
        make_anew(bootstrap, document["state"]["topic"], configs=SETTINGS)
        feed(bootstrap, document["source"]["topic"], LATER)
        said = check_refusal(process)
        assert process.exit_code() == NO_RESTART_HELPS
    assert f"topic {document['state']['topic']} (state.topic) was deleted and created again" in said
    assert "fugu state rebuild" in said
    assert len(released(bootstrap, document)) == FEW
    with running(pipeline) as process:
        assert "there is no state for them" in check_refusal(process)


@pytest.mark.parametrize("role", ["source", "sink", "dead_letters", "ledger", "state"])
def test_no_cut_is_committed_once_a_topic_is_another_one(
    role: str, make: Callable[..., House], topics: TopicFactory
) -> None:
    ledger = topics("ledger", configs={"cleanup.policy": "compact"})
    house = make(1, {"ledger": {"topic": ledger}, "budget": {"total": 100.0}})
    copy = house.first()
    take_in(copy, house.feed())
    copy.cut()
    take_in(copy, house.feed())
    topic = {
        "source": house.source,
        "sink": house.document["sink"]["topic"],
        "dead_letters": house.document["sink"]["dead_letters"],
        "ledger": ledger,
        "state": house.state,
    }[role]
    compacted = {"cleanup.policy": "compact"} if role in ("ledger", "state") else {}
    make_anew(house.bootstrap, topic, configs=compacted)
    for _ in range(2):
        with pytest.raises(StartRefused, match=topic):
            copy.cut()
    assert len(house.released()) == (0 if role == "sink" else FEW)


def test_no_cut_is_committed_once_a_topic_is_gone(house: House) -> None:
    copy = house.first()
    take_in(copy, house.feed())
    sink = house.document["sink"]["topic"]
    with KafkaAdminClient(bootstrap_servers=house.bootstrap) as admin:
        admin.delete_topics([house.source])
    with pytest.raises(StartRefused, match=f"topic {house.source} is not there any more"):
        copy.cut()
    assert read_topic(house.bootstrap, sink)[0] == []


def test_a_source_that_is_written_by_user_and_made_anew_is_written_no_further(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("private")
    document = document_of(bootstrap, source, "kafka", repartition=True)
    record = Record(None, b'{"zone": "rest", "user": {"id": "ann"}}')
    pipeline = write_pipeline(tmp_path, document, MEMORYLESS)
    with running(pipeline) as process:
        produce(bootstrap, source, [Placed(0, record)] * FEW)
        process.wait_until(lambda: len(released(bootstrap, document)) == FEW)
        make_anew(bootstrap, source)
        produce(bootstrap, source, [Placed(0, record)] * LATER)
        said = check_refusal(process)
        assert process.exit_code() == NO_RESTART_HELPS
    assert f"origin_identity changed (topic {source}" in said
    assert len(released(bootstrap, document)) == FEW
    assert len(read_topic(bootstrap, f"{document['name']}.by-user")[0]) == FEW
