"""Compare what a start refuses with what `fugu validate --kafka` said before: the same words."""

from contextlib import closing
from pathlib import Path

import orjson
import yaml
from kafka import KafkaConsumer, TopicPartition
from typer.testing import CliRunner

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.commands.cli.fugu import app
from tests.kafka.pipelines import SECRET, SECRET_VARIABLE, refusal
from tests.kafka.records import partitions_of

Everything = tuple[dict[TopicPartition, int], dict[str, bytes]]
_FAILURE = "fugu: "


def refusal_foretold(path: Path, *options: str, secret: str = SECRET, alone: bool = True) -> str:
    """Return what a start says, line for line as `validate --kafka` with these options did before.

    Neither writes to Kafka or to the state; unless something else does, who is not `alone`.
    """
    before = everything(path) if alone else None
    foretold = _lines_of_validate(path, options, secret)
    assert not alone or everything(path) == before
    said = refusal(path, *options, secret=secret)
    assert not alone or everything(path) == before
    lines = said[said.index(_FAILURE) + len(_FAILURE) :].splitlines()
    assert sorted(set(lines)) == sorted(foretold)
    return said


def _lines_of_validate(path: Path, options: tuple[str, ...], secret: str) -> set[str]:
    arguments = ["validate", str(path), "--kafka", "--json", *options]
    ended = CliRunner().invoke(app, arguments, env={SECRET_VARIABLE: secret})
    assert ended.exit_code == 1, ended.output
    if isinstance(ended.exception, FuguError):  # the file cannot be read
        return set(str(ended.exception).splitlines())
    rows = orjson.loads(ended.stdout)
    refused = [row["detail"] for row in rows if row["result"] in ("failed", "in use")]
    return {line for detail in refused for line in detail.splitlines()}


def everything(path: Path) -> Everything | None:
    """Return where topics end, and all files of the state but for the count of refused starts."""
    try:
        document = yaml.safe_load(path.read_text())
        state = path.parent / document["state"]["directory"]
        bootstrap = document["kafka"]["bootstrap"]
    except (OSError, yaml.YAMLError):
        return None
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        partitions = [
            TopicPartition(topic, partition)
            for topic in consumer.topics()
            for partition in partitions_of(consumer, topic)
        ]
        ends = consumer.end_offsets(partitions)
    return ends, {
        str(one): one.read_bytes()
        for one in state.rglob("*")
        if one.is_file() and one.name != "refused-starts"
    }
