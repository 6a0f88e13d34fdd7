"""A pipeline that lost its state does not release its source once more, whatever its file says."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from kafka import KafkaConsumer

from tests.kafka.established import RECORDS, Established, established
from tests.kafka.foretold import refusal_foretold
from tests.kafka.pipelines import fugu
from tests.kafka.topics import TopicFactory


@pytest.fixture
def pipeline(bootstrap: str, topics: TopicFactory, tmp_path: Path) -> Established:
    """One that has released its source and stopped."""
    return established(bootstrap, topics, tmp_path)


def topics_at(bootstrap: str) -> set[str]:
    """The names of all topics."""
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        found: set[str] = consumer.topics()
        return found


def with_new_topics(pipeline: Established) -> str:
    """Name a sink that does not exist yet."""
    sink = f"{pipeline.source}.once-more"
    pipeline.document["sink"] = {"topic": sink, "create": True}
    return sink


def test_after_rotation_and_loss_of_state_no_topic_makes_a_second_release_of_the_source(
    pipeline: Established,
) -> None:
    fugu("state", "rotate", pipeline.write(), "--keys", pipeline.directory / "keys.json")
    pipeline.document["secret"] = {"file": "keys.json", "encoding": "keys"}
    shutil.rmtree(pipeline.directory / "state")
    said = refusal_foretold(pipeline.write())
    assert "Restore the state directory" in said
    assert "new, empty topic" not in said

    released = pipeline.published()
    sink = with_new_topics(pipeline)
    said = refusal_foretold(pipeline.write())
    assert "there is no state in" in said
    assert "secret names keys of epoch 1, which fugu state rotate made for one" in said
    assert "names of new topics do not help" in said
    assert released == RECORDS
    assert sink not in topics_at(pipeline.bootstrap), "a refused start creates nothing"
    assert not list((pipeline.directory / "state").rglob("fingerprint.json"))


def test_a_sink_with_releases_but_without_a_state_is_refused_and_no_other_topic_is_advised(
    pipeline: Established,
) -> None:
    shutil.rmtree(pipeline.directory / "state")
    said = refusal_foretold(pipeline.write())
    assert f"topic {pipeline.sink} already holds records, but there is no state for them" in said
    assert "Another topic does not help" in said
    assert pipeline.published() == RECORDS


def test_a_ledger_knows_a_pipeline_whose_state_and_topics_are_gone(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    ledger = topics("ledger", partitions=1, configs={"cleanup.policy": "compact"})
    pipeline = established(bootstrap, topics, tmp_path, ledger=ledger)
    shutil.rmtree(pipeline.directory / "state")
    sink = with_new_topics(pipeline)
    said = refusal_foretold(pipeline.write())
    assert f"pipeline heart-zones has already released {pipeline.source}" in said
    assert "what it releases adds to what was spent" in said
    assert sink not in topics_at(bootstrap)
    assert not list((tmp_path / "state").rglob("fingerprint.json"))
