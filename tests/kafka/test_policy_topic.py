"""Validate a topic of policy changes with `fugu validate --kafka`, and read it."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)

from fugu.dataflows.commands.validate import validate
from fugu.dataflows.kafka.client import EVERYBODY, Client
from fugu.dataflows.kafka.connection import Library
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.policies.signatures import HEADER
from tests.dataflows.policies.documents import DOCUMENT
from tests.kafka.clients import both, connected, kafka_section
from tests.kafka.pipelines import SECRET, SECRET_VARIABLE, pipeline_document, write_pipeline
from tests.kafka.secured import Section, SecuredListeners
from tests.kafka.topics import TopicFactory

OWNERS = "owners: [{name: alice, ed25519: iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=}]\n"
CLUSTER = "kafka-cluster"
METERS, OPERATORS = "User:meters", "User:operators"
STAMPED = {"message.timestamp.type": "LogAppendTime"}
"""Kafka says when a change was written, and nobody else."""


class Looking:
    """A pipeline with a topic of changes, and what `fugu validate --kafka` says about that."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str], source: str) -> None:
        self._directory, self._capsys, self._source = directory, capsys, source

    def warnings(self, kafka: Section, topic: str, owners: str = OWNERS) -> list[str]:
        document = pipeline_document("replaced:1", self._source, f"{self._source}.out")
        document["source"] |= {"policies": topic, "value": "kw", "timestamp": "kafka"}
        document["operator"] = {"kind": "unicorn", "policies": "policies.yaml"}
        path = write_pipeline(self._directory, document | {"kafka": kafka})
        (self._directory / "policies.yaml").write_text(owners + DOCUMENT)
        assert validate(PipelineFile.read(path), kafka=True, as_json=True)
        found: list[dict[str, str]] = orjson.loads(self._capsys.readouterr().out)
        return [
            one["detail"]
            for one in found
            if one["check"] in ("source.policies", "sink.partials") and one["result"] == "warning"
        ]


@pytest.fixture
def looking(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    topics: TopicFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Looking:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    return Looking(tmp_path, capsys, topics("power"))


def rule(
    who: str,
    what: ACLOperation,
    name: str,
    kind: ResourceType = ResourceType.TOPIC,
    pattern: ACLResourcePatternType = ACLResourcePatternType.LITERAL,
) -> ACL:
    return ACL(who, "*", what, ACLPermissionType.ALLOW, ResourcePattern(kind, name, pattern))


@contextmanager
def ruled(bootstrap: str, *rules: ACL) -> Iterator[None]:
    """Rules of access that are gone again for the next test."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_acls(list(rules))
        try:
            yield
        finally:
            admin.delete_acls(
                [
                    ACLFilter(
                        one.principal, "*", one.operation, one.permission_type, one.resource_pattern
                    )
                    for one in rules
                ]
            )


def test_a_topic_that_few_may_write_to_is_fine(
    looking: Looking, bootstrap: str, topics: TopicFactory
) -> None:
    topic = topics("policies", configs=STAMPED)
    rules = (rule(METERS, ACLOperation.WRITE, topic), rule(EVERYBODY, ACLOperation.READ, topic))
    with ruled(bootstrap, *rules):
        assert looking.warnings(kafka_section(bootstrap), topic) == []


@pytest.mark.parametrize(
    ("named", "pattern"),
    [
        ("{topic}", ACLResourcePatternType.LITERAL),
        ("*", ACLResourcePatternType.LITERAL),
        ("fugu-test-pol", ACLResourcePatternType.PREFIXED),
    ],
)
def test_everybody_who_may_write_is_found_whatever_a_rule_says_it_with(
    named: str,
    pattern: ACLResourcePatternType,
    looking: Looking,
    bootstrap: str,
    topics: TopicFactory,
) -> None:
    topic = topics("policies", configs=STAMPED)
    everybody = rule(
        EVERYBODY, ACLOperation.WRITE, named.format(topic=topic), ResourceType.TOPIC, pattern
    )
    with ruled(bootstrap, everybody):
        owned, *log = looking.warnings(kafka_section(bootstrap), topic)
        unowned, *_ = looking.warnings(kafka_section(bootstrap), topic, owners="")
    assert bool(log) == (named == "*")
    assert owned.startswith(f"everybody who reaches the broker may write to {topic}")
    assert "remove policies of collection household, which has no owners" in unowned


def test_who_may_delete_records_is_named(
    looking: Looking, bootstrap: str, topics: TopicFactory
) -> None:
    topic = topics("policies", configs=STAMPED)
    with ruled(bootstrap, rule(OPERATORS, ACLOperation.DELETE, topic)):
        [warning] = looking.warnings(kafka_section(bootstrap), topic)
    assert warning.startswith(f"{OPERATORS} may delete records of {topic}")


def test_whoever_may_write_to_the_topic_of_partial_sums_is_named(
    looking: Looking, bootstrap: str, topics: TopicFactory
) -> None:
    topic = topics("policies", configs=STAMPED)
    rules = (
        rule(METERS, ACLOperation.WRITE, topic),
        rule(EVERYBODY, ACLOperation.WRITE, "heart-zones.partials"),
    )
    with ruled(bootstrap, *rules):
        [warning] = looking.warnings(kafka_section(bootstrap), topic)
    assert "may write to heart-zones.partials. Entries of others do not count" in warning


def test_a_topic_without_rules_is_open_or_closed_and_nobody_says_which(
    looking: Looking, bootstrap: str, topics: TopicFactory
) -> None:
    topic = topics("policies", configs=STAMPED)
    [warning] = looking.warnings(kafka_section(bootstrap), topic)
    assert warning.startswith(f"no ACL is about {topic}")


def test_a_user_who_is_not_told_the_rules_cannot_check(
    looking: Looking, bootstrap: str, topics: TopicFactory, secured: SecuredListeners
) -> None:
    topic = topics("policies", configs=STAMPED)
    hidden = rule("User:other", ACLOperation.DESCRIBE, CLUSTER, ResourceType.CLUSTER)
    with ruled(bootstrap, hidden):
        [warning] = looking.warnings(secured.sasl("SASL_SSL", "SCRAM-SHA-512"), topic)
    assert "cannot be checked: Kafka does not tell this user its ACLs" in warning


def test_what_deletes_changes_is_named(
    looking: Looking, bootstrap: str, topics: TopicFactory
) -> None:
    settings = {"cleanup.policy": "compact,delete", "retention.ms": "86400000"}
    topic = topics("policies", configs=settings | STAMPED)
    with ruled(bootstrap, rule(METERS, ACLOperation.WRITE, topic)):
        said = looking.warnings(kafka_section(bootstrap), topic)
    assert [warning.split(": ")[0] for warning in said] == [
        f"{topic} is compacted",
        f"{topic} is compacted",
        f"{topic} has retention.ms=86400000",
    ]


class Garbled(str):
    """The name of a header that is no text, which a client of one's own can write."""

    def encode(self, *_: Any) -> bytes:
        return b"\xff\xfe\x00"


@both
def test_headers_of_changes_are_read_whatever_they_hold(
    library: Library, bootstrap: str, topics: TopicFactory
) -> None:
    topic = topics("policies", configs=STAMPED)
    written: list[list[tuple[str, Any]]] = [
        [(HEADER, b"ed25519 alice AAAA"), (HEADER, b"\xff\x00")],
        [(HEADER, None)],
        [],
    ]
    producer = Producer({"bootstrap.servers": bootstrap})
    for headers in written:
        producer.produce(topic, b"{}", b"home/shower", headers=headers)
    assert producer.flush(30) == 0
    assert read_headers(connected(bootstrap, library), topic, len(written)) == written


@pytest.mark.parametrize("library", ["librdkafka", "kafka-python"])
def test_a_header_whose_name_is_no_text_stops_no_client(
    bootstrap: str, topics: TopicFactory, library: Library
) -> None:
    """As many as it takes until the interpreter has specialised the call that reads headers."""
    topic, many = topics("policies", configs=STAMPED), 60
    with closing(KafkaProducer(bootstrap_servers=bootstrap)) as producer:
        for name in [*[Garbled("name")] * many, "name"]:
            producer.send(topic, b"{}", b"home/shower", [(name, b"7")])
        producer.flush(30)
    client = connected(bootstrap, library)
    assert read_headers(client, topic, many + 1) == [*[[]] * many, [("name", b"7")]]


def read_headers(client: Client, topic: str, records: int) -> list[list[tuple[str, bytes]]]:
    found: list[list[tuple[str, bytes]]] = []
    deadline = time.monotonic() + 20
    with closing(client.reader(topic, headers=True)) as reader:
        reader.assign({0: 0})
        while len(found) < records:
            assert time.monotonic() < deadline
            found += [list(headers) for batch in reader.poll(10) for headers in batch.headers]
    return found
