"""Other parameters over the same streams: one budget, one posterior, one promise in the ledger."""

from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import numpy as np
import orjson
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from fugu.dataflows.files.model_file import read_model
from fugu.dataflows.publishing.ledger_topic import PipelineEntry
from fugu.operators.carrying.replayed_belief import Span, replayed
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from tests.faults.feeding import document_with_topics
from tests.faults.killing import killed_inside
from tests.kafka.pipelines import (
    ALPHABET,
    MODEL,
    Document,
    RunningPipeline,
    fugu,
    refusal,
    refused,
    running,
    write_pipeline,
)
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

USERS, PARTITIONS = 30, 2
EARLY, LATE, TOTAL = 40, 12, 43.0
MOVES = np.random.default_rng(8).random((EARLY + LATE, USERS)) < 0.1
TRUTHS = np.cumsum(MOVES, axis=0) % len(ALPHABET)
"""Everybody stays mostly, and goes round the zones."""


def test_a_pooled_model_continues_the_budgets_and_what_readers_know(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    before = document_with_topics(
        bootstrap, topics, topics("private", partitions=PARTITIONS), partitions=PARTITIONS
    )
    before["operator"] = {"kind": "grr", "alphabet": ALPHABET, "epsilon": 1.0}
    before["budget"] = {"total": TOTAL}
    before["state"]["shards"] = 2
    after = before | {
        "version": 2,
        "operator": before["operator"] | {"kind": "crr", "model": "pooled.json"},
    }
    old = write_pipeline(tmp_path, before).rename(tmp_path / "grr.yaml")
    run_over(bootstrap, before, old, TRUTHS[:EARLY])

    pooled = tmp_path / "pooled.json"
    said = fugu("model", "learn", pooled, "--released-by", old)
    assert f"{EARLY * USERS:,} records of {USERS} streams" in " ".join(said.split())
    new = write_pipeline(tmp_path, after)
    assert "fugu migrate OLD NEW" in refusal(new)

    other = tmp_path / "other.yaml"
    other.write_text(old.read_text().replace("epsilon: 1.0", "epsilon: 0.9"))
    assert "was not written by" in refused("migrate", other, new)

    following: list[str | Path] = ["migrate", old, new]
    killed_inside("renamed", 3, *following)
    assert "version changed (was 1, is 2)" in refusal(new)
    killed_inside("renamed", 8, *following)
    assert "Run fugu migrate once more" in refusal(new)
    assert "Run fugu migrate once more" in refusal(old)
    fugu(*following)
    assert "was not written by" in refused(*following)
    assert "version changed (was 2, is 1)" in refusal(old)
    run_over(bootstrap, after, new, TRUTHS[EARLY:], kill=True)

    crr = ConditionalRandomizedResponse(read_model(pooled, ALPHABET), epsilon=1.0)
    streams = released_by_key(bootstrap, after)
    check_what_readers_know(crr, streams)
    fresh = [sum(not release.get("repeated") for release in s) for s in streams.values()]
    assert min(fresh) >= TOTAL, "a release may cost less than epsilon, never more"
    assert min(fresh) < EARLY + LATE, "what was spent before counts"


def run_over(
    bootstrap: str,
    document: Document,
    pipeline: Path,
    truths: Any,
    *,
    releases: int | None = None,
    kill: bool = False,
) -> None:
    """Feed, publish one release of each record or so many, and stop; killed if told so."""
    sink, most = document["sink"]["topic"], truths.size if releases is None else releases
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        there = sink in consumer.topics()
        published = sum(end_offsets(consumer, sink)) if there else 0
        produce(bootstrap, document["source"]["topic"], readings(truths))

        def run_until(target: int, process: RunningPipeline) -> None:
            process.wait_until(lambda: sum(end_offsets(consumer, sink)) >= published + target)

        if kill:
            with running(pipeline) as process:
                run_until(most // 2, process)
                process.kill()
        with running(pipeline) as process:
            run_until(most, process)
            assert process.stop() == 0, process.stderr


def readings(truths: Any) -> list[Placed]:
    """Step by step, one record of everybody."""
    return [
        Placed(
            user % PARTITIONS,
            Record(b"user-%d" % user, b'{"zone": "%b"}' % ALPHABET[zone].encode(), timestamp=NOW),
        )
        for step in truths
        for user, zone in enumerate(step.tolist())
    ]


def released_by_key(bootstrap: str, document: Document) -> dict[bytes, list[dict[str, Any]]]:
    """Read what the sanitized topic holds of every stream, whole and in order."""
    streams = released(bootstrap, document)
    assert {len(stream) for stream in streams.values()} == {EARLY + LATE}
    return streams


def released(bootstrap: str, document: Document) -> dict[bytes, list[dict[str, Any]]]:
    """Read what a sanitized topic holds of every stream, in order, and once."""
    streams = defaultdict(list)
    for records in read_topic(bootstrap, document["sink"]["topic"]).values():
        assert len({record.headers for record in records}) == len(records)
        for record in records:
            streams[record.key or b""].append(orjson.loads(record.value or b""))
    return streams


def check_what_readers_know(
    crr: ConditionalRandomizedResponse, streams: dict[bytes, list[dict[str, Any]]]
) -> None:
    """The published confidence is the posterior given both versions' releases."""
    grr = GeneralizedRandomizedResponse(len(ALPHABET), epsilon=1.0)
    for stream in streams.values():
        symbols = [ALPHABET.index(release["zone"]) for release in stream]
        early = [np.array(symbols[:EARLY])]
        _, state = replayed([Span(grr, ALPHABET, None, early)], crr, ALPHABET)
        for release, symbol in zip(stream[EARLY:], symbols[EARLY:], strict=True):
            if release.get("repeated"):
                assert release["confidence"] is None
                continue
            state, posterior = crr.observe(state, np.array([symbol]))
            assert abs(posterior[0, symbol] - release["confidence"]) <= 0.5001e-4


def grr_pipeline(bootstrap: str, topics: TopicFactory, total: float) -> Document:
    """A budget over the life of a stream, entered into a ledger."""
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source, partitions=PARTITIONS)
    document["operator"] = {"kind": "grr", "alphabet": ALPHABET, "epsilon": 1.0}
    document["budget"] = {"total": total}
    document["ledger"] = {"topic": f"{source}.promises", "create": True}
    return document


[PROMISE] = GeneralizedRandomizedResponse(len(ALPHABET), 1.0).guarantees()


def publish(bootstrap: str, topic: str, key: bytes, value: bytes) -> None:
    """Write one record to partition 0."""
    produce(bootstrap, topic, [Placed(0, Record(key, value))])


def fresh_releases(bootstrap: str, *sinks: str) -> Counter[bytes]:
    """Count the releases of each key that were drawn."""
    fresh = Counter[bytes]()
    for sink in sinks:
        for records in read_topic(bootstrap, sink).values():
            for record in records:
                fresh[record.key or b""] += not orjson.loads(record.value or b"").get("repeated")
    return fresh


@pytest.mark.acceptance
def test_epsilon_and_total_change_and_what_was_spent_counts(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Spend 5 of 8 nats: 6 more releases of half a nat each follow, wherever it is killed."""
    document = grr_pipeline(bootstrap, topics, 6.0)
    old = write_pipeline(tmp_path, document).rename(tmp_path / "old.yaml")
    run_over(bootstrap, document, old, TRUTHS[:5])
    document["operator"]["epsilon"], document["budget"]["total"] = 0.5, 4.0
    new = write_pipeline(tmp_path, document)
    assert "streams have spent more" in refused("migrate", old, new)
    document["budget"]["total"] = 8.0
    new = write_pipeline(tmp_path, document)
    for number in (1, 2, 3, 1, 1):
        killed_inside("renamed", number, "migrate", old, new)
    fugu("migrate", old, new)
    run_over(bootstrap, document, new, TRUTHS[5:15])
    assert set(fresh_releases(bootstrap, document["sink"]["topic"]).values()) == {5 + 6}
    entries = orjson.loads(fugu("ledger", new, "--json"))["pipelines"]
    assert [entry["guarantees"][0]["epsilon"] for entry in entries] == [pytest.approx(8.0)]


def test_another_name_and_sink_keep_budgets_and_no_copy_of_before_starts_again(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document = grr_pipeline(bootstrap, topics, 6.0)
    old = write_pipeline(tmp_path, document).rename(tmp_path / "old.yaml")
    run_over(bootstrap, document, old, TRUTHS[:4])
    copytree(tmp_path / "state", tmp_path / "copy")
    before = document["sink"]["topic"]
    document["name"] = "zones"
    document["sink"] = document["sink"] | {"topic": f"{before}.next", "create": True}
    new = write_pipeline(tmp_path, document)
    assert "fugu migrate OLD NEW" in refusal(new)
    taken = PipelineEntry("zones", document["source"]["topic"], "", "", "", "", (PROMISE,), None)
    ledger = document["ledger"]["topic"]
    publish(bootstrap, ledger, taken.key(), taken.value())
    assert "has an entry of another pipeline zones" in refused("migrate", old, new)
    publish(bootstrap, ledger, taken.key(), b"null")
    fugu("migrate", old, new)
    run_over(bootstrap, document, new, TRUTHS[4:8])
    assert set(fresh_releases(bootstrap, before, document["sink"]["topic"]).values()) == {6}
    entries = orjson.loads(fugu("ledger", new, "--json"))["pipelines"]
    assert [entry["pipeline"] for entry in entries] == ["zones"]

    rmtree(tmp_path / "state")
    (tmp_path / "copy").rename(tmp_path / "state")
    assert "was taken over" in refusal(old)


def test_a_sink_that_was_created_anew_is_gone_on_with(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document = grr_pipeline(bootstrap, topics, 6.0)
    pipeline = write_pipeline(tmp_path, document)
    run_over(bootstrap, document, pipeline, TRUTHS[:4])
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.delete_topics([document["sink"]["topic"]])
    document["sink"]["create"] = True
    write_pipeline(tmp_path, document)
    assert "fugu migrate PIPELINE PIPELINE" in refusal(pipeline)
    fugu("migrate", pipeline, pipeline)
    run_over(bootstrap, document, pipeline, TRUTHS[4:8])
    assert set(fresh_releases(bootstrap, document["sink"]["topic"]).values()) == {2}


def test_laws_that_differ_only_in_where_and_how_they_are_read_are_told_apart(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Two periods of grr, one with a window: the last hop alone would look sound."""
    document = grr_pipeline(bootstrap, topics, 40.0)
    document["budget"]["window"] = 3
    first = write_pipeline(tmp_path, document).rename(tmp_path / "first.yaml")
    run_over(bootstrap, document, first, TRUTHS[:4])
    del document["budget"]["window"]
    second = write_pipeline(tmp_path, document).rename(tmp_path / "second.yaml")
    fugu("migrate", first, second)
    document["operator"] |= {"kind": "crr", "model": "model.json"}
    third = write_pipeline(tmp_path, document)
    assert "in none of the files" in refused("migrate", second, third)
    said = refused("migrate", second, third, "--earlier", first)
    assert "positions without a release" in said
    fugu("state", "show", second)


def test_epsilon_then_model_then_alphabet_change_under_one_budget(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Each law is told apart in what was published, and the last belief knows all of it."""
    document = grr_pipeline(bootstrap, topics, 100.0)
    document["operator"] = document["operator"] | {"kind": "crr", "model": "model.json"}
    first = write_pipeline(tmp_path, document).rename(tmp_path / "first.yaml")
    run_over(bootstrap, document, first, TRUTHS[:5])
    document["operator"]["epsilon"] = 0.5
    second = write_pipeline(tmp_path, document).rename(tmp_path / "second.yaml")
    fugu("migrate", first, second)
    run_over(bootstrap, document, second, TRUTHS[5:10])

    grown = [*ALPHABET, "asleep"]
    moves = (0.9 * np.eye(5) + 0.02 * np.ones((5, 5))).tolist()
    model = MODEL | {"alphabet": grown, "transition": moves}
    (tmp_path / "grown.json").write_bytes(orjson.dumps(model))
    document["operator"] |= {"alphabet": grown, "model": "grown.json"}
    third = write_pipeline(tmp_path, document)
    assert "--earlier" in refused("migrate", second, third)
    fugu("migrate", second, third, "--earlier", first)
    run_over(bootstrap, document, third, TRUTHS[10:12])

    laws = [
        ConditionalRandomizedResponse(read_model(tmp_path / "model.json", ALPHABET), epsilon)
        for epsilon in (1.0, 0.5)
    ]
    last = ConditionalRandomizedResponse(read_model(tmp_path / "grown.json", grown), 0.5)
    for stream in released(bootstrap, document).values():
        symbols = [grown.index(release["zone"]) for release in stream]
        spans = [
            Span(law, ALPHABET, None, [np.array(symbols[begin : begin + 5])])
            for law, begin in zip(laws, (0, 5), strict=True)
        ]
        _, state = replayed(spans, last, grown)
        for release, symbol in zip(stream[10:], symbols[10:], strict=True):
            state, posterior = last.observe(state, np.array([symbol]))
            assert abs(posterior[0, symbol] - release["confidence"]) <= 0.5001e-4


def test_records_that_retention_removed_are_passed_over_and_budgets_stay(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document = grr_pipeline(bootstrap, topics, 6.0)
    pipeline, source = write_pipeline(tmp_path, document), document["source"]["topic"]
    run_over(bootstrap, document, pipeline, TRUTHS[:4])
    migrate: list[str | Path] = ["migrate", pipeline, pipeline, "--accept-gap", f"{source}:0"]
    assert "there is no gap" in refused(*migrate)
    produce(bootstrap, source, readings(TRUTHS[4:6]))
    gone = 5 * USERS // PARTITIONS
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.delete_records({TopicPartition(source, 0): gone})
    assert f"--accept-gap {source}:0" in refusal(pipeline)
    assert "write" in refused("migrate", pipeline, pipeline, "--accept-gap", "other:0")
    assert "reads 2 partitions" in refused(*migrate[:-1], f"{source}:7")
    fugu(*migrate)
    rest = 2 * USERS - USERS // PARTITIONS
    run_over(bootstrap, document, pipeline, TRUTHS[:0], releases=rest)
    run_over(bootstrap, document, pipeline, TRUTHS[6:10])
    assert set(fresh_releases(bootstrap, document["sink"]["topic"]).values()) == {6}


def test_values_that_are_held_back_are_finished_first(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document = grr_pipeline(bootstrap, topics, 60.0)
    document["operator"] = {
        "kind": "batched_crr",
        "alphabet": ALPHABET,
        "model": "model.json",
        "window": 3,
        "epsilon_per_batch": 2.0,
        "kernel": "heuristic",
    }
    old = write_pipeline(tmp_path, document).rename(tmp_path / "old.yaml")
    batches = USERS
    run_over(bootstrap, document, old, TRUTHS[:4], releases=batches)
    document["budget"]["total"] = 70.0
    new = write_pipeline(tmp_path, document)
    assert "Run the pipeline once with --finish" in refused("migrate", old, new)
    fugu("run", old, "--finish")
    fugu("migrate", old, new)
    run_over(bootstrap, document, new, TRUTHS[4:7], releases=batches)
