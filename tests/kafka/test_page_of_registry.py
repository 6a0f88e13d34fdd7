"""Programs of the page about registries write what a pipeline reads, and read what it releases."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from kafka import KafkaConsumer

import fugu
from fugu.dataflows.files.proto_compiler import descriptors_of
from tests.kafka.java import HERE, PROTOC, serializers
from tests.kafka.pipelines import pipeline_document, running, write_pipeline
from tests.kafka.records import end_offsets
from tests.kafka.registry import Registry
from tests.kafka.test_page_of_formats import SOURCES, TIME
from tests.kafka.test_page_of_formats import blocks as blocks_of_formats
from tests.kafka.topics import TopicFactory

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "registry.md").read_text()
INCLUDED = files("grpc_tools") / "_proto"
SOURCE_OF = {
    "avro": SOURCES["vitals.avro"],
    "json_schema": SOURCES["vitals.avro"] | {"topic": "vitals.json"},
    "protobuf": SOURCES["vitals.protobuf"],
}
"""What pipelines read, by kind of format, as the pages say it."""
SINK = "vitals.sanitized"
PREFIX = {"avro": "Avro", "json_schema": "Json", "protobuf": "Protobuf"}
KINDS = [
    kind if kind == "avro" else pytest.param(kind, marks=pytest.mark.acceptance) for kind in PREFIX
]


def blocks(language: str) -> list[str]:
    """The blocks of code in the page."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def program_of(text: str) -> str:
    """The class that a program in Java is."""
    [name] = re.findall(r"^public class (\w+)", text, re.MULTILINE)
    return str(name)


@dataclass(frozen=True)
class Programs:
    """The programs of the page, compiled for the addresses of this run."""

    folder: Path
    class_path: str
    sources: Mapping[str, str]
    sinks: Mapping[str, str]

    @property
    def command(self) -> list[str]:
        """What a class is run by."""
        quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        return ["java", *quick, "-cp", self.class_path]

    def produce(self, kind: str) -> None:
        """Run the producer of a kind to its end."""
        name = f"{PREFIX[kind]}Producer"
        subprocess.run([*self.command, name], cwd=self.folder, check=True, timeout=60)

    @contextmanager
    def consumer(self, *command: str) -> Iterator[Iterator[str]]:
        """Yield what a consumer prints; it is ended at last."""
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield (line.strip() for line in process.stdout)
            finally:
                process.kill()


@pytest.fixture(scope="module")
def programs(
    registry: Registry,
    bootstrap: str,
    topics: TopicFactory,
    tmp_path_factory: pytest.TempPathFactory,
) -> Programs:
    jars = serializers()
    folder = tmp_path_factory.mktemp("programs")
    sources = {kind: topics(kind.replace("_", "-")) for kind in PREFIX}
    own = {"localhost:9092": bootstrap, "http://localhost:8081": registry.url.split("/apis")[0]}
    own |= {str(SOURCE_OF[kind]["topic"]): topic for kind, topic in sources.items()}
    (folder / "reading.proto").write_text(*blocks_of_formats("protobuf"))
    (folder / "release.proto").write_text(*blocks("protobuf"))
    (folder / "reading.json").write_text(*blocks("json"))
    compiled: list[str | Path] = [PROTOC, f"-I{INCLUDED}", "-I.", "--java_out=."]
    subprocess.run([*compiled, "reading.proto", "release.proto"], cwd=folder, check=True)
    sinks = {kind: f"{topic}.out" for kind, topic in sources.items()}
    for text in blocks("java"):
        name = program_of(text)
        kind = next(kind for kind, prefix in PREFIX.items() if name.startswith(prefix))
        (folder / f"{name}.java").write_text(
            replaced(text, own | {SINK: sinks[kind], "dashboard": kind})
        )
    [reader] = blocks("python")
    (folder / "consumer.py").write_text(replaced(reader, own | {SINK: sinks["avro"]}))
    javac = ["javac", "-Xlint:all,-processing,-classfile", "-d", ".", "-cp", jars]
    subprocess.run([*javac, *folder.rglob("*.java")], cwd=folder, check=True)
    return Programs(folder, f"{jars}:{folder}", sources, sinks)


def replaced(text: str, own: Mapping[str, str]) -> str:
    """A program with the addresses and topics of this run."""
    for old, new in own.items():
        text = text.replace(old, new)
    return text


def test_the_page_names_the_libraries_that_are_fetched() -> None:
    [dependencies] = blocks("xml")
    pom = re.sub("^  ", "", (HERE / "pom.xml").read_text(), flags=re.MULTILINE)
    assert dependencies in pom


def test_there_is_a_producer_and_a_consumer_of_each_kind() -> None:
    names = [f"{prefix}{role}" for prefix in PREFIX.values() for role in ("Producer", "Consumer")]
    assert [program_of(text) for text in blocks("java")] == names


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_java_writes_what_a_pipeline_reads_and_reads_what_it_releases(
    kind: str, programs: Programs, registry: Registry, bootstrap: str, tmp_path: Path
) -> None:
    programs.produce(kind)
    sink = programs.sinks[kind]
    document = pipeline_document(bootstrap, programs.sources[kind], sink)
    document["source"] |= section_of(kind, programs, registry)
    document["sink"]["format"] = {"kind": kind, "registry": {"url": registry.url}}
    with (
        running(write_pipeline(tmp_path, document)) as process,
        closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer,
    ):
        process.wait_until(lambda: sink in consumer.topics())
        process.wait_until(lambda: sum(end_offsets(consumer, sink)) >= 2)
        assert process.stop() == 0, process.stderr
        assert sum(end_offsets(consumer, f"{sink}.dead")) == 0
    released = fugu.read(f"kafka://{bootstrap}/{sink}").records.to_pylist()
    assert [one["time"].timestamp() * 1000 for one in released] == [TIME, TIME]
    told = [f"{one['user']} {one['value']}" for one in released]
    readers = [[*programs.command, f"{PREFIX[kind]}Consumer"]]
    if kind == "avro":
        readers.append([sys.executable, str(programs.folder / "consumer.py")])
    for command in readers:
        with programs.consumer(*command) as lines:
            assert [next(lines), next(lines)] == told
    if kind == "protobuf":
        compiled = (programs.folder / "release.proto").read_text()
        assert descriptors_of(compiled, {}) == descriptors_of(registry.text(f"{sink}-value"), {})


def section_of(kind: str, programs: Programs, registry: Registry) -> dict[str, Any]:
    """What a pipeline reads, with the addresses of this run."""
    form = {"kind": kind, "registry": {"url": registry.url}}
    source: dict[str, Any] = yaml.safe_load(yaml.safe_dump(SOURCE_OF[kind]))
    return source | {"topic": programs.sources[kind], "format": form}
