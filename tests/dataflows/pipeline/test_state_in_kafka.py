"""Read what a pipeline file says of a state in Kafka, and refuse with a way out."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.flows.state_directories import root_directory, stored_fingerprint
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.run.dealing import dealt, shard_numbers
from tests.kafka.pipelines import SECRET, SECRET_VARIABLE, pipeline_document, write_pipeline

KAFKA = {"store": "kafka", "every": "500ms"}


def read(path: Path, state: dict[str, Any], **changes: Any) -> PipelineFile:
    document = pipeline_document("localhost:9092", "raw", "sanitized") | {"state": state}
    for section, change in changes.items():
        document[section] = document[section] | change
    return PipelineFile.read(write_pipeline(path, document))


def test_nothing_on_disk_belongs_to_it(tmp_path: Path) -> None:
    file = read(tmp_path, KAFKA)
    assert file.pipeline.state_topic == "heart-zones.state"
    assert stored_fingerprint(file) is None
    with pytest.raises(ConfigurationError, match=r"no state directory.*fugu state move OLD NEW"):
        root_directory(file)
    assert dealt(file.pipeline, 3) == [[], [], []]
    with pytest.raises(ConfigurationError, match="consumer group deals partitions out"):
        shard_numbers(["0/2"], file.pipeline)


@pytest.mark.parametrize(
    ("state", "changes", "said"),
    [
        ({"every": "1s"}, {}, "write directory: PATH"),
        ({"directory": "state", "topic": "here"}, {}, "topic: is for store: kafka"),
        ({"directory": "state", "standby": "all"}, {}, "standby: is for store: kafka"),
        (KAFKA | {"standby": "1"}, {}, "standby"),
        (KAFKA | {"directory": "state"}, {}, "nothing is kept on disk; delete it"),
        (KAFKA | {"shards": 2}, {}, "start as many copies of fugu run as you like"),
        (KAFKA | {"control": "claims"}, {}, "the state topic holds claims"),
        (KAFKA | {"every": "11s"}, {}, "at most 10s"),
        (KAFKA | {"topic": "raw"}, {}, "must be different"),
        (KAFKA, {"kafka": {"client": "kafka-python"}}, "needs client: librdkafka"),
        (KAFKA, {"kafka": {"broker": "embedded", "client": "auto"}}, "embedded broker has not"),
        (
            KAFKA,
            {"source": {"partitions": "follow", "partitioner": "murmur2"}},
            "cannot be moved to added partitions",
        ),
    ],
)
def test_what_it_does_not_carry_is_refused(
    tmp_path: Path, state: dict[str, Any], changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        read(tmp_path, state, **changes)


COMMANDS = (
    "state show",
    "state verify",
    "state export FILE there",
    "state import FILE there",
    "state rotate FILE --keys there",
    "state repartition",
    "state rebuild",
    "state claim",
    "redrive",
    "migrate FILE FILE",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_over_directories_are_refused_and_say_how_to_finish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Before anything is asked of Kafka, which is not there."""
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    monkeypatch.chdir(tmp_path)
    path = str(read(tmp_path, KAFKA).path)
    before = sorted(tmp_path.iterdir())
    named = command if "FILE" in command else f"{command} FILE"
    words = [path if word == "FILE" else word for word in named.split()]
    ended = CliRunner().invoke(app, words).exception
    assert isinstance(ended, ConfigurationError), ended
    assert "nothing was done" in str(ended)
    assert "fugu state move OLD NEW" in str(ended)
    assert sorted(tmp_path.iterdir()) == before


def merged(path: Path, operator: dict[str, Any], **state: Any) -> PipelineFile:
    document = pipeline_document("localhost:9092", "raw", "sanitized")
    document["source"] = {"topic": "raw", "value": "zone", "timestamp": "kafka"}
    document["operator"] = {"ticks": {"width": "1m", "grace": "0s"}} | operator
    document["state"] = state
    return PipelineFile.read(write_pipeline(path, document))


WINDOWED = {"kind": "pba", "epsilon": 1.0, "window": 4, "groups": ["a", "b"]}


@pytest.mark.parametrize("kind", ["pba", "lsp"])
def test_an_aggregate_may_have_its_state_in_kafka(tmp_path: Path, kind: str) -> None:
    assert merged(tmp_path, WINDOWED | {"kind": kind}, **KAFKA).pipeline.state.in_kafka


@pytest.mark.parametrize(
    "operator",
    [
        WINDOWED | {"kind": "lbd"},
        WINDOWED | {"kind": "lpa"},
        {
            "kind": "anonymize",
            "sensitive": "diagnosis",
            "taxonomy": {"Disease": {"Virus": ["Dengue", "H1N1"], "Lung": ["Asthma"]}},
            "privacy_height": 2,
            "K": 5,
            "rho": 2,
            "quantum": "1m",
        },
    ],
)
def test_other_kinds_that_merge_are_refused_until_they_are_carried(
    tmp_path: Path, operator: dict[str, Any]
) -> None:
    """Never silently wrong: a merge without its state would begin every budget again."""
    with pytest.raises(
        ConfigurationError, match=f"does not carry {operator['kind']} yet"
    ) as refused:
        merged(tmp_path, operator, **KAFKA)
    assert "Write store: disk, directory: PATH and shards: N" in str(refused.value)
