"""From `grr` to `crr` under a pooled model: one topic, one budget, one posterior."""

from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from kafka import KafkaConsumer

from fugu.dataflows.files.model_file import read_model
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.after_responses import after_responses
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from tests.faults.feeding import document_with_topics
from tests.faults.test_state_moves import killed_inside
from tests.kafka.pipelines import (
    ALPHABET,
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
    assert "fugu state continue" in refusal(new)

    other = tmp_path / "other.yaml"
    other.write_text(old.read_text().replace("epsilon: 1.0", "epsilon: 0.9"))
    assert "was not written by" in refused("state", "continue", new, "--after", other)

    following: list[str | Path] = ["state", "continue", new, "--after", old]
    killed_inside("renamed", 3, *following)
    assert "but there is no state for them" in refusal(new)
    fugu(*following)
    fugu(*following)
    assert "version changed (was 2, is 1)" in refusal(old)
    run_over(bootstrap, after, new, TRUTHS[EARLY:], kill=True)

    crr = ConditionalRandomizedResponse(read_model(pooled, ALPHABET), epsilon=1.0)
    streams = released_by_key(bootstrap, after)
    check_what_readers_know(crr, streams)
    fresh = [sum(not release.get("repeated") for release in s) for s in streams.values()]
    assert min(fresh) >= TOTAL, "a release may cost less than epsilon, never more"
    assert min(fresh) < EARLY + LATE, "what was spent before counts"


def run_over(
    bootstrap: str, document: Document, pipeline: Path, truths: Any, *, kill: bool = False
) -> None:
    """Feed, publish everything, and stop; killed on the way if told so."""
    sink = document["sink"]["topic"]
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        published = sum(end_offsets(consumer, sink))
        produce(bootstrap, document["source"]["topic"], readings(truths))

        def run_until(target: int, process: RunningPipeline) -> None:
            process.wait_until(lambda: sum(end_offsets(consumer, sink)) >= published + target)

        if kill:
            with running(pipeline) as process:
                run_until(truths.size // 2, process)
                process.kill()
        with running(pipeline) as process:
            run_until(truths.size, process)
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
    """What readers of the sanitized topic see of every stream, whole and in order."""
    streams = defaultdict(list)
    for records in read_topic(bootstrap, document["sink"]["topic"]).values():
        assert len({record.headers for record in records}) == len(records)
        for record in records:
            streams[record.key or b""].append(orjson.loads(record.value or b""))
    assert {len(stream) for stream in streams.values()} == {EARLY + LATE}
    return streams


def check_what_readers_know(
    crr: ConditionalRandomizedResponse, streams: dict[bytes, list[dict[str, Any]]]
) -> None:
    """The published confidence is the posterior given both versions' releases."""
    grr = GeneralizedRandomizedResponse(len(ALPHABET), epsilon=1.0)
    for stream in streams.values():
        symbols = [ALPHABET.index(release["zone"]) for release in stream]
        state = after_responses(crr, grr, [np.array(symbols[:EARLY])])
        for release, symbol in zip(stream[EARLY:], symbols[EARLY:], strict=True):
            if release.get("repeated"):
                assert release["confidence"] is None
                continue
            state, posterior = crr.observe(state, np.array([symbol]))
            assert abs(posterior[0, symbol] - release["confidence"]) <= 0.5001e-4
