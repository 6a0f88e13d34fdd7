"""The ledger on a real Kafka: promises, sums, refusals, and what streams have spent."""

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from kafka import KafkaConsumer

from fugu.dataflows.base.errors import StartContended, StartRefused, exit_code
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.pipeline.source_section import DeclaredBudget
from fugu.dataflows.publishing import registration
from fugu.dataflows.publishing.ledger_topic import PipelineEntry, read_ledger, write_entry
from fugu.dataflows.publishing.registration import register
from tests.conformance.kinds import KINDS
from tests.kafka.clients import connected
from tests.kafka.foretold import refusal_foretold
from tests.kafka.pipelines import (
    MEMORYLESS,
    Document,
    fugu,
    pipeline_document,
    running,
    write_pipeline,
)
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

USERS, EACH = 40, 6


@pytest.fixture(scope="module")
def source(bootstrap: str, topics: TopicFactory) -> str:
    """Users keep to their partition; user 0 sends once only."""
    source = topics("private", partitions=2)
    records = [
        Placed(user % 2, Record(b"user-%d" % user, b'{"zone": "light"}', timestamp=NOW + user))
        for number in range(EACH)
        for user in range(USERS)
        if user or not number
    ]
    produce(bootstrap, source, records)
    return source


@pytest.fixture
def ledger(topics: TopicFactory) -> str:
    return topics("ledger", partitions=1, configs={"cleanup.policy": "compact"})


def pipeline(bootstrap: str, source: str, ledger: str, name: str, epsilon: float = 1.0) -> Document:
    document = pipeline_document(bootstrap, source, f"{source}.{name}")
    document["name"] = name
    document["operator"]["epsilon"] = epsilon
    document["budget"] = {"total": 4.0}
    document["ledger"] = {"topic": ledger}
    return document


def run(bootstrap: str, path: Path, document: Document) -> str:
    """Run until every record has its release; returns what the pipeline said."""
    records = USERS * EACH - EACH + 1
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer, running(path) as process:
        sink = document["sink"]["topic"]
        process.wait_until_started()
        process.wait_until(lambda: sink in consumer.topics())
        process.wait_until(lambda: sum(end_offsets(consumer, sink)) == records)
        assert process.stop() == 0, process.stderr
        return process.stderr


def shown(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = orjson.loads(fugu("ledger", path, "--json"))
    return content


def test_a_ledger_says_what_was_promised_and_which_streams_are_nearest_to_their_end(
    bootstrap: str, source: str, ledger: str, tmp_path: Path
) -> None:
    document = pipeline(bootstrap, source, ledger, "zones")
    path = write_pipeline(tmp_path, document, MEMORYLESS)
    assert f"{ledger}, compacted" in fugu("validate", "--kafka", path)
    said = run(bootstrap, path, document)
    assert "together, ldp: epsilon 8 nats" in said

    content = shown(path)
    [entry] = content["pipelines"]
    explained = orjson.loads(fugu("explain", path, "--json"))
    assert entry["guarantee_id"] == explained["guarantee_id"]
    assert entry["guarantees"] == [
        {name: of[name] for name in entry["guarantees"][0]} for of in explained["guarantees"]
    ]
    streams = content["streams"]
    released = read_topic(bootstrap, document["sink"]["topic"])
    counts = Counter(record.key for partition in released.values() for record in partition)
    assert {stream["stream"].encode() for stream in streams} == set(counts)
    exhausted = [stream["exhausted"] for stream in streams]
    assert exhausted == sorted(exhausted, reverse=True)
    assert [s["stream"].encode() for s in streams if not s["exhausted"]] == [
        key for key, count in counts.items() if count == 1
    ]
    assert "exhausted" in fugu("ledger", path)

    card = tmp_path / "report.html"
    fugu("report", path, "--kafka", "-o", card)
    ended = sum(exhausted)
    told = f"zones: {len(streams)} streams have spent a tenth of their budget or more, and {ended}"
    assert told in card.read_text()


def test_a_restart_adds_nothing_to_the_ledger_but_its_claim_of_the_state(
    bootstrap: str, source: str, ledger: str, tmp_path: Path
) -> None:
    document = pipeline(bootstrap, source, ledger, "again")
    path = write_pipeline(tmp_path, document, MEMORYLESS)
    run(bootstrap, path, document)
    before = without_claims(bootstrap, ledger)
    run(bootstrap, path, document)
    assert without_claims(bootstrap, ledger) == before


def test_pipelines_over_one_source_add_up_and_a_declared_budget_is_kept(
    bootstrap: str, source: str, ledger: str, tmp_path: Path
) -> None:
    first = pipeline(bootstrap, source, ledger, "first")
    first["source"]["budget"] = 12.0
    run(bootstrap, write_pipeline(tmp_path / "first", first, MEMORYLESS), first)
    moved = first | {"sink": {"topic": f"{source}.elsewhere", "create": True}}
    said = refusal_foretold(write_pipeline(tmp_path / "moved", moved, MEMORYLESS))
    assert f"pipeline first has already released {source}" in said

    second = pipeline(bootstrap, source, ledger, "second")
    path = write_pipeline(tmp_path / "second", second, MEMORYLESS)
    said = refusal_foretold(path)
    assert f"source.budget of {source} is 12 nats per stream" in said
    assert "8 (first) + 8 (second)" in said
    assert [entry["pipeline"] for entry in shown(path)["pipelines"]] == ["first"]

    second["budget"]["total"] = 2.0
    second["ledger"]["beside"] = {
        "pipelines": {"first": "parallel", "elsewhere": "disjoint"},
        "correlation": {"transition": [[0.9, 0.1], [0.2, 0.8]]},
    }
    path = write_pipeline(tmp_path / "third", second | {"name": "third"}, MEMORYLESS)
    said = run(bootstrap, path, second)
    assert "1 other pipelines" in said
    assert "together, ldp: epsilon 12 nats" in said
    assert "together, sip: no sum: sip figures of different pipelines do not add up" in said
    [together] = shown(path)["sums"]
    assert together["source_budgets"] == [{"epsilon": 12.0, "delta": None, "per": None}]
    sip, ldp = together["sums"]
    assert (sip["epsilon"], ldp["account"]) == (None, "by adding epsilons")
    words = " ".join(fugu("ledger", path).split())
    assert "Together, about" in words
    assert "About the same people, parallel: nats about one value" in words
    assert "third is beside elsewhere (ledger.beside), which is not in this ledger" in words
    [joint] = shown(path)["joint"]
    assert (joint["first"], joint["second"]) == ("third", "first")
    assert joint["limit"][2] <= 12.0 + 1e-6


def test_an_entry_of_another_version_is_not_passed_over(
    bootstrap: str, source: str, ledger: str, tmp_path: Path
) -> None:
    document = pipeline(bootstrap, source, ledger, "early")
    path = write_pipeline(tmp_path, document, MEMORYLESS)
    run(bootstrap, path, document)
    [own] = (entry for entry in entries(bootstrap, ledger) if entry["kind"] == "pipeline")
    later = {**own, "format": 5, "pipeline": "late", "guarantees": {}}
    key = orjson.dumps(["late", own["source_identity"]])
    produce(bootstrap, ledger, [Placed(0, Record(key, orjson.dumps(later), timestamp=NOW))])
    assert "entry of late has format 5: another version of Fugu wrote" in refusal_foretold(path)
    assert shown(path)["unreadable"][0]["pipeline"] == "late"


def without_claims(bootstrap: str, ledger: str) -> list[Record]:
    """Everything that a ledger was told about promises and streams."""
    records = [record for part in read_topic(bootstrap, ledger).values() for record in part]
    return [one for one in records if not (one.key or b"").startswith(b'["lease"')]


def entries(bootstrap: str, ledger: str) -> list[dict[str, Any]]:
    """Return what was ever written about pipelines, in order."""
    records = [record for part in read_topic(bootstrap, ledger).values() for record in part]
    read = [orjson.loads(record.value) for record in records if record.value]
    return [entry for entry in read if entry["kind"] == "pipeline"]


def test_a_ledger_that_would_forget_is_refused(
    bootstrap: str, source: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document = pipeline(bootstrap, source, topics("deleting", partitions=1), "forgetful")
    said = refusal_foretold(write_pipeline(tmp_path, document, MEMORYLESS))
    assert "set cleanup.policy=compact (it is delete)" in said
    document["ledger"] = {"topic": "no-such-ledger"}
    said = refusal_foretold(write_pipeline(tmp_path, document, MEMORYLESS))
    assert "(ledger.topic) does not exist" in said


def test_of_two_that_enter_at_the_same_moment_the_one_that_is_refused_may_start_again(
    bootstrap: str, ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    promised = KINDS["crr"].examples()[0].mechanism.guarantees()
    most = DeclaredBudget(1.5 * max(one.epsilon for one in promised), 1e-6)
    one, other = (
        PipelineEntry(name, "raw", "raw-id", f"{name}.out", f"{name}-id", "0123", promised, most)
        for name in ("one", "other")
    )
    client = connected(bootstrap)
    topic = client.topic(ledger)
    assert topic is not None

    def write_beside(client: Client, topic: Topic, entry: PipelineEntry) -> None:
        write_entry(client, topic, other)
        write_entry(client, topic, entry)

    with monkeypatch.context() as at_once:
        at_once.setattr(registration, "write_entry", write_beside)
        with pytest.raises(StartContended, match=r"at the same moment.*start again") as refused:
            register(client, topic, one)
    assert exit_code(refused.value) == 1
    assert [entry.pipeline for entry in read_ledger(client, topic).pipelines] == ["other"]
    with pytest.raises(StartRefused, match="come to") as then:
        register(client, topic, one)
    assert exit_code(then.value) == 78, "the other one stays"
