"""Stop a start: each cause has one clear error, exit code 1 and no traceback."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka.established import records
from tests.kafka.foretold import refusal_foretold
from tests.kafka.pipelines import (
    SECRET_VARIABLE,
    Document,
    RunningPipeline,
    check_refusal,
    pipeline_document,
    running,
    write_pipeline,
)
from tests.kafka.records import produce
from tests.kafka.topics import TopicFactory

NOBODY_LISTENS = "127.0.0.1:1"


@pytest.fixture(scope="module", autouse=True)
def unreachable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPipeline]:
    """A pipeline whose broker is not there: it is patient, so it starts before the other tests."""
    document = pipeline_document(NOBODY_LISTENS, "source", "sink")
    path = write_pipeline(tmp_path_factory.mktemp("unreachable"), document)
    with running(path) as process:
        yield process


@pytest.fixture(scope="module")
def source(bootstrap: str, topics: TopicFactory) -> str:
    source = topics("source", partitions=2)
    produce(bootstrap, source, records(0, 4))
    return source


@pytest.fixture
def document(bootstrap: str, source: str) -> Document:
    """A pipeline that would start."""
    return pipeline_document(bootstrap, source, f"{source}.out")


def test_a_source_that_does_not_exist(document: Document, tmp_path: Path) -> None:
    document["source"]["topic"] = "no-such-topic"
    assert "topic no-such-topic (source.topic) does not exist" in refused(document, tmp_path)


AGGREGATE = {
    "kind": "uniform",
    "epsilon": 1.0,
    "window": 4,
    "groups": ["north", "south"],
    "ticks": {"width": "1s"},
}


@pytest.mark.parametrize("operator", [None, AGGREGATE])
def test_more_shards_than_partitions_begin_no_state(
    operator: Document | None, document: Document, tmp_path: Path
) -> None:
    """Otherwise the states of the first shards would refuse the right number afterwards."""
    document["operator"] = operator or document["operator"]
    document["sink"]["topic"] += f".{document['operator']['kind']}"
    document["state"]["shards"] = 3
    assert "so shard 2 would have none. Write at most 2." in refused(document, tmp_path)
    state = tmp_path / document["state"]["directory"]
    assert not [*state.rglob("fingerprint*")]


def test_a_sink_that_does_not_exist(document: Document, tmp_path: Path) -> None:
    document["sink"]["create"] = False
    said = refused(document, tmp_path)
    assert "(sink.topic) does not exist. Create it with 2 partitions" in said
    assert "(sink.dead_letters) does not exist" in said


def test_a_sink_that_is_compacted(document: Document, topics: TopicFactory, tmp_path: Path) -> None:
    compacted = {"cleanup.policy": "compact"}
    document["sink"]["topic"] = topics("compacted", partitions=2, configs=compacted)
    assert "set cleanup.policy=delete (it is compact)" in refused(document, tmp_path)


def test_a_sink_with_another_number_of_partitions(
    document: Document, topics: TopicFactory, tmp_path: Path
) -> None:
    document["sink"]["topic"] = topics("three", partitions=3)
    assert "Both need the same number" in refused(document, tmp_path)


def test_a_sink_that_holds_records_of_someone_else(
    document: Document, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document["sink"]["topic"] = topics("used", partitions=2)
    produce(bootstrap, document["sink"]["topic"], records(0, 2))
    assert "already holds records, and the newest were not written by Fugu" in refused(
        document, tmp_path
    )


def test_a_key_that_is_unknown(document: Document, tmp_path: Path) -> None:
    document["sink"]["partitions"] = 3
    said = refused(document, tmp_path)
    assert "pipeline.yaml:" in said
    assert "sink.partitions: unknown key" in said


def test_text_that_is_no_yaml(document: Document, tmp_path: Path) -> None:
    path = write_pipeline(tmp_path, document)
    path.write_text("name: [heart-zones\n")
    assert "pipeline.yaml:" in (said := refusal_foretold(path))
    assert "is not valid YAML" in said


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "cannot be read (No such file or directory)" in refusal_foretold(
        tmp_path / "pipeline.yaml"
    )


def test_a_model_row_that_is_no_distribution(document: Document, tmp_path: Path) -> None:
    path = write_pipeline(tmp_path, document, {"format": "fugu-markov-model"})
    assert "operator.model: " in refusal_foretold(path)


@pytest.mark.parametrize(
    ("secret", "says"), [("", "is not set"), ("ab" * 31, "holds 31 bytes, but 32 are needed")]
)
def test_a_secret_that_is_missing_or_short(
    secret: str, says: str, document: Document, tmp_path: Path
) -> None:
    said = refusal_foretold(write_pipeline(tmp_path, document), secret=secret)
    assert f"environment variable {SECRET_VARIABLE} {says}" in said
    assert not (tmp_path / "state").exists(), "refused before anything is touched"


def test_a_state_directory_that_cannot_be_one(document: Document, tmp_path: Path) -> None:
    document["state"]["directory"] = "model.json"
    assert "model.json/shard-0000 cannot be used" in refused(document, tmp_path)


def test_a_broker_that_is_never_there(unreachable: RunningPipeline) -> None:
    said = check_refusal(unreachable, seconds=30)
    assert (
        f"Kafka at {NOBODY_LISTENS} cannot be reached (KafkaConnectionError: 111 ECONNREFUSED)"
        in said
    )
    assert (
        "Check its address (kafka.bootstrap in a pipeline file) and that the broker is running"
        in said
    )


def refused(document: Document, directory: Path) -> str:
    return refusal_foretold(write_pipeline(directory, document))
