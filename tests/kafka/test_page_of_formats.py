"""Producers of the page about formats write what its pipelines read."""

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from tests.kafka.clients import connected
from tests.kafka.java import serializers
from tests.kafka.kafka_process import SCRIPTS
from tests.kafka.pipelines import ALPHABET, pipeline_document, write_pipeline
from tests.kafka.registry import Registry
from tests.kafka.topics import TopicFactory
from tests.thinned import first_in_test

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
PROTOC = ["-m", "grpc_tools.protoc", "-I.", "--python_out=.", "reading.proto"]
TIME = 1_767_225_600_000


def blocks(language: str) -> list[str]:
    """The blocks of code in the page."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


SECTIONS = [yaml.safe_load(one) for one in blocks("yaml")]
SOURCES = {one["source"]["topic"]: one["source"] for one in SECTIONS if "source" in one}
PRODUCERS = {
    topic: producer
    for topic in SOURCES
    for producer in blocks("python")
    if f'"{topic}"' in producer
}

JAVA = {
    topic: producer for topic in SOURCES for producer in blocks("java") if f'"{topic}"' in producer
}


def test_every_producer_of_the_page_is_run() -> None:
    assert f"`python {' '.join(PROTOC)}`" in PAGE.read_text()
    assert sorted(PRODUCERS.values()) == sorted(blocks("python"))
    assert sorted(JAVA.values()) == sorted(blocks("java"))


@pytest.mark.parametrize("name", PRODUCERS)
def test_a_producer_of_the_page_writes_what_its_pipeline_reads(
    name: str,
    registry: Registry,
    bootstrap: str,
    topics: TopicFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic, own = (
        topics("page"),
        {"localhost:9092": bootstrap, "http://localhost:8081": registry.url},
    )
    producer, source = PRODUCERS[name].replace(name, topic), yaml.safe_dump(SOURCES[name])
    for old, new in own.items():
        producer, source = producer.replace(old, new), source.replace(old, new)
    if name == "vitals.protobuf":
        (tmp_path / "reading.proto").write_text(*blocks("protobuf"))
        subprocess.run([sys.executable, *PROTOC], cwd=tmp_path, check=True)
        monkeypatch.syspath_prepend(tmp_path)
    variables: dict[str, Any] = {}
    exec(producer, variables)
    (tmp_path / "reading.avsc").write_bytes(orjson.dumps(variables.get("schema")))
    require_both_are_read(topic, source, bootstrap, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", first_in_test(list(JAVA), 2))
def test_a_producer_in_java_writes_what_the_same_pipeline_reads(
    name: str, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    topic = topics("page-java")
    text = JAVA[name].replace(name, topic).replace("localhost:9092", bootstrap)
    [program] = re.findall(r"public class (\w+)", text)
    (tmp_path / f"{program}.java").write_text(text)
    jars = f"{SCRIPTS.parents[1]}/.kafka/lib/*"
    if "org.apache.avro" in text:
        jars += f":{serializers()}"
        (tmp_path / "reading.avsc").write_bytes(avro_schema())
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", jars, f"{program}.java"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    require_both_are_read(topic, yaml.safe_dump(SOURCES[name]), bootstrap, tmp_path)


def avro_schema() -> bytes:
    """The schema that the producer of raw Avro in Python has."""
    text, _, _ = PRODUCERS["vitals.raw-avro"].partition("producer =")
    variables: dict[str, Any] = {}
    exec(text, variables)
    return orjson.dumps(variables["schema"])


def require_both_are_read(topic: str, source: str, bootstrap: str, tmp_path: Path) -> None:
    """A pipeline reads rest and light, and the time that they have."""
    document = pipeline_document(bootstrap, topic, f"{topic}.out")
    document["source"] |= yaml.safe_load(source) | {"topic": topic}
    codec = configure(PipelineFile.read(write_pipeline(tmp_path, document))).codec
    with closing(connected(bootstrap).reader(topic, headers=True)) as reader:
        bounds = reader.bounds([0])[0]
        [batch] = reader.read_range(0, bounds.start, bounds.end)
    decoded = codec.decode(batch)
    assert [ALPHABET[place] for place in decoded.values.tolist()] == ["rest", "light"]
    assert list(decoded.timestamps) == [TIME, TIME]
    assert set(decoded.dead.reasons) <= {"row_deleted"}
