"""Every format is read by both clients over every feature of a broker, and nothing else leaves.

Of releases by a schema only the first five bytes are looked at here, which name the schema that the
registry has: what they hold is read by deserializers in `test_released_schemas.py`, over the plain
listener.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from confluent_kafka import Producer
from kafka import KafkaConsumer

from fugu.dataflows.kafka.connection import Library
from tests.kafka.clients import BOTH, kafka_section
from tests.kafka.formats import CANARY, FORMATS, TIME, Format
from tests.kafka.pages import Pages
from tests.kafka.pipelines import RunningPipeline, pipeline_document, running, write_pipeline
from tests.kafka.ports import free_ports
from tests.kafka.records import Record, read_topic
from tests.kafka.registry import Registry
from tests.kafka.secured import PASSWORD, USER, SecuredListeners
from tests.kafka.test_both_clients import READABLE
from tests.kafka.token_server import TokenServer, serving
from tests.kafka.topics import TopicFactory

FEATURES = ["plain", "transactions", "compression", "tls", "sasl", "oauthbearer"]
NOT_THERE = {("transactions", "kafka-python")}
CASES: list[tuple[str, Library]] = [
    (feature, library)
    for feature in FEATURES
    for library in BOTH
    if (feature, library) not in NOT_THERE
]
IDS = [f"{feature}-{library}" for feature, library in CASES]
MARKED = [
    case if case == ("plain", "librdkafka") else pytest.param(case, marks=pytest.mark.acceptance)
    for case in CASES
]
WAYS: dict[Library, list[str]] = {
    "librdkafka": ["gzip", "lz4", "snappy", "zstd"],
    "kafka-python": [way for way in READABLE if way != "none"],
}
"""How records are compressed that a client reads."""


@dataclass(frozen=True)
class Outcome:
    """What was outside after a run over the records of a format."""

    sink: str
    schema: int
    """The id of the schema of its first record, where it has one."""
    topics: Mapping[str, list[Record]]
    """Everything that was written, by topic."""
    stderr: str
    pages: list[bytes]


@pytest.fixture(scope="module")
def tokens(secured: SecuredListeners) -> Iterator[TokenServer]:
    server = TokenServer(secured.signing, {USER: PASSWORD})
    with serving(server, secured.folder / "server.pem") as running_server:
        yield running_server


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest,
    registry: Registry,
    bootstrap: str,
    secured: SecuredListeners,
    tokens: TokenServer,
    topics: TopicFactory,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Outcome]:
    """A pipeline for each format, all at the same time."""
    feature, library = request.param
    kafka = connection(feature, library, secured, tokens)
    started = dict[str, tuple[str, list[Record], Pages, RunningPipeline]]()
    outcomes = dict[str, Outcome]()
    with ExitStack() as stack, closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        for name, form in FORMATS.items():
            source = topics(name.replace("_", "-"))
            records = form.written(registry, source)
            put(bootstrap, source, records, WAYS[library] if feature == "compression" else ["none"])
            port, folder = free_ports(1), tmp_path_factory.mktemp(source)
            document = pipeline_document(bootstrap, source, f"{source}.out")
            document |= {"name": source, "kafka": kafka, "metrics": {"port": port}}
            document["source"] |= form.section(registry)
            if form.sink is not None:
                document["sink"]["format"] = {"kind": form.sink, "registry": {"url": registry.url}}
            for file, content in form.files.items():
                (folder / file).write_bytes(content)
            process = stack.enter_context(running(write_pipeline(folder, document)))
            started[name] = f"{source}.out", records, Pages(port), process
        for name, (sink, records, pages, process) in started.items():
            out = {sink: 2, f"{sink}.dead": len(records) - 2}
            process.wait_until(lambda pages=pages, out=out: written(pages) == out)  # type: ignore[misc]
            process.wait_until(lambda out=out: held(bootstrap, out) == out)  # type: ignore[misc]
            pages.get("/healthz")
            assert process.stop() == 0, process.stderr
            found = {
                topic: read_topic(bootstrap, topic)[0]
                for topic in consumer.topics()
                if topic.startswith(sink)
            }
            schema = int.from_bytes((records[0].value or b"")[1:5], "big")
            outcomes[name] = Outcome(sink, schema, found, process.stderr, pages.seen)
    return outcomes


def connection(
    feature: str, library: Library, secured: SecuredListeners, tokens: TokenServer
) -> dict[str, Any]:
    """The section `kafka` of a pipeline file."""
    section = kafka_section(secured.plain)
    match feature:
        case "transactions":
            section |= {"transactions": True}
        case "compression" if library == "librdkafka":
            section |= {"settings": {"compression.type": "gzip"}}
        case "tls":
            section = secured.ssl()
        case "sasl":
            section = secured.sasl("SASL_SSL", "SCRAM-SHA-512")
        case "oauthbearer":
            section = secured.oauth(tokens.url)
    return section | {"client": library}


def put(bootstrap: str, topic: str, records: list[Record], ways: list[str]) -> None:
    """Write records, each compressed in the next one of these ways."""
    for number, one in enumerate(records):
        settings = {"compression.type": ways[number % len(ways)]}
        producer = Producer({"bootstrap.servers": bootstrap, **settings})
        producer.produce(topic, one.value, one.key, 0, headers=list(one.headers))
        assert producer.flush(30) == 0


def written(pages: Pages) -> dict[str, float]:
    """How many records were handed over, by topic; nothing before there are pages."""
    try:
        return pages.sums("fugu_records_out_total")
    except OSError:
        return {}


def held(bootstrap: str, topics: Mapping[str, float]) -> dict[str, float]:
    """How many records topics hold: those that were written last may be on their way."""
    return {topic: float(len(read_topic(bootstrap, topic)[0])) for topic in topics}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("outcomes", MARKED, ids=IDS, indirect=True)
def test_a_format_is_released_and_nothing_else_of_it_is_anywhere(
    name: str, outcomes: dict[str, Outcome], registry: Registry
) -> None:
    form, outcome = FORMATS[name], outcomes[name]
    released, dead = outcome.topics[outcome.sink], outcome.topics[f"{outcome.sink}.dead"]
    assert [one.timestamp for one in released] == [TIME, TIME]
    require_form(form, outcome, released, registry)
    told = [orjson.loads(one.value or b"") for one in dead]
    assert [(one["offset"], one["reason"], one["field"]) for one in told] == [
        (offset, reason, field and field.format(outcome.schema))
        for offset, (reason, field) in enumerate(form.told, start=2)
    ]
    assert any(b"fugu_records_in_total" in page for page in outcome.pages)
    outside = [outcome.stderr, repr(outcome.topics), repr(outcome.pages)]
    hidden = [CANARY, CANARY.encode().hex()]
    assert [word for word in hidden for text in outside if word in text] == []


def require_form(
    form: Format, outcome: Outcome, released: list[Record], registry: Registry
) -> None:
    """Releases are JSON, or begin with the id that the registry has for their schema."""
    contents = [one.value or b"" for one in released]
    if form.sink is None:
        assert {tuple(orjson.loads(one)) for one in contents} == {("zone", "confidence")}
        return
    number = registry.newest(f"{outcome.sink}-value")
    assert {one[:5] for one in contents} == {b"\0" + number.to_bytes(4, "big")}
