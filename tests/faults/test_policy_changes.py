"""Policies come and go while records flow and processes are killed: no trace in what is released.

Two pipelines read the same records and the same topic of changes. One is never disturbed; the other
one's processes are killed around every change.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random

import orjson
import pytest
import yaml
from kafka import KafkaConsumer

from tests.faults.feeding import document_with_topics
from tests.kafka.pipelines import Document, RunningPipeline, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

PARTITIONS, SHARDS, USERS, TICKS, STAGE = 4, 2, 60, 60, 12
SECOND = 1_000
FIRST = NOW // SECOND
"""Ticks are seconds, counted from 1970."""
Change = tuple[int, str, bytes | None]
"""At which tick it is written, of which policy, and how."""


def test_policies_that_change_under_kills_leave_the_series_of_an_undisturbed_run(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("power", partitions=PARTITIONS)
    changes = topics("policies", configs={"cleanup.policy": "compact"})
    documents = [pipeline(bootstrap, topics, source, changes) for _ in range(2)]
    there, here = (
        write_household(tmp_path / name, document)
        for name, document in zip(("undisturbed", "disturbed"), documents, strict=True)
    )
    random = Random(3)
    with ExitStack() as stack, closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        steady = stack.enter_context(running(there))
        shards = [stack.enter_context(shard(here, number)) for number in range(SHARDS)]

        def released(ticks: int) -> bool:
            sinks = [document["sink"]["topic"] for document in documents]
            return min(sum(end_offsets(consumer, sink)) for sink in sinks) >= ticks

        def known(changes: int) -> bool:
            return all(policy_entries(bootstrap, documents, changes))

        told = 0
        for begin in range(0, TICKS, STAGE):
            produce(bootstrap, source, meters(begin, begin + STAGE, random))
            closed = max(0, begin + STAGE - 2)
            steady.wait_until(partial(released, closed))
            new = [change for change in CHANGES if begin <= change[0] < begin + STAGE]
            produce(bootstrap, changes, map(placed, new))
            victim = random.randrange(SHARDS)
            shards[victim].kill()
            shards[victim] = stack.enter_context(shard(here, victim))
            told += len(new)
            steady.wait_until(partial(known, told))
        for process in (steady, *shards):
            assert process.stop() == 0, process.stderr
        said = steady.stderr

    topics_of = [document["sink"] for document in documents]
    for name in ("topic", "dead_letters"):
        undisturbed, disturbed = (read_topic(bootstrap, sink[name]) for sink in topics_of)
        assert disturbed == undisturbed
    figures = [
        orjson.loads(record.value or b"")
        for record in read_topic(bootstrap, topics_of[0]["topic"])[0]
    ]
    asked = {figure["start"] // SECOND - FIRST: figure["sensitivity"] for figure in figures}
    assert [asked[tick] for tick in range(TICKS - 2)] == pytest.approx(EXPECTED[: TICKS - 2])
    assert {figure["status"] for figure in figures} >= {"sampled", "repeated"}
    for start, end, _ in OPENED:
        inside = [one for one in figures if start <= one["start"] // SECOND - FIRST <= end]
        spent = [one["decision_epsilon"] + one["publication_epsilon"] for one in inside]
        assert max(spent) > 0
        assert sum(sorted(spent)[-1:]) <= 1.0 + 1e-9
    [refused] = read_topic(bootstrap, topics_of[0]["dead_letters"])[0]
    assert orjson.loads(refused.value or b"")["reason"] == "bad_policy"
    assert "home/typing: policy.theta" in orjson.loads(refused.value or b"")["field"]
    assert "home/typing: policy.theta" in said
    assert "home/visit is added" in said
    assert "earlier ones are postponed" in said
    assert "home/sauna is removed" in said


def pipeline(bootstrap: str, topics: TopicFactory, source: str, changes: str) -> Document:
    made = document_with_topics(bootstrap, topics, source, partitions=PARTITIONS)
    made["source"] |= {
        "value": "kw",
        "policies": changes,
        "timestamp": {"field": "at", "format": "epoch-ms"},
    }
    time = {"stream_time": {"distinct_keys": 1}}
    made["operator"] = {"kind": "unicorn", "policies": "policies.yaml", "ticks": time}
    made["sink"] |= {"topic": topics("power"), "partials": topics("partials")}
    made["state"] |= {"every": "200ms", "shards": SHARDS}
    return made


def write_household(directory: Path, document: Document) -> Path:
    path = write_pipeline(directory, document)
    policies = [
        policy("tea", 4, 9, 1.0),
        policy("sauna", 30, 35, 4.0),
        policy("sauna2", 46, 51, 4.0),
    ]
    written = {
        "version": 1,
        "grid": {"tick": "PT1S", "zone": "UTC"},
        "query": {"kind": "sum", "unit": "kW", "cap": 5.0, "resolution": 0.01},
        "epsilon": 1.0,
        "collections": [{"id": "home", "applies_to": {"default": True}, "policies": policies}],
    }
    (directory / "policies.yaml").write_text(yaml.safe_dump(written))
    return path


def policy(name: str, start: int, end: int, theta: float) -> Document:
    """For the ticks `start` to `end` from the first one on; any one of them may change."""
    return {
        "id": name,
        "interval": {"start": at(start), "end": at(end + 1)},
        "pattern": {"ticks": 1},
        "theta": theta,
    }


def at(tick: int) -> str:
    return datetime.fromtimestamp(FIRST + tick, UTC).isoformat()


def added(when: int, effective: int, name: str, start: int, end: int, theta: float) -> Change:
    change = {"effective": at(effective), "policy": policy(name, start, end, theta)}
    return when, f"home/{name}", orjson.dumps(change)


def shard(path: Path, number: int) -> AbstractContextManager[RunningPipeline]:
    return running(path, "--shard", f"{number}/{SHARDS}")


def placed(change: Change) -> Placed:
    _, key, value = change
    return Placed(0, Record(key.encode(), value))


CHANGES: list[Change] = [
    added(0, 20, "guests", 22, 26, 2.0),
    added(1, 16, "typing", 18, 19, -1.0),
    added(12, 32, "visit", 33, 40, 3.0),
    (24, "home/sauna2", orjson.dumps({"effective": at(40), "remove": True})),
    (24, "home/sauna", orjson.dumps({"effective": at(38), "remove": True})),
    added(36, 50, "late", 52, 55, 1.5),
]
OPENED = [(4, 9, 1.0), (22, 26, 2.0), (30, 35, 4.0), (52, 55, 1.5)]
"""What is protected when: the visit would overlap the sauna, and there is no later one; the second
sauna is gone before it begins, the first one ran to its end."""
EXPECTED = [
    sum(theta for start, end, theta in OPENED if start <= tick <= end) for tick in range(TICKS)
]


def policy_entries(bootstrap: str, documents: list[Document], told: int) -> Iterator[bool]:
    """Whether the internal logs hold all changes but the one that is refused."""
    for document in documents:
        entries = read_topic(bootstrap, document["sink"]["partials"])[0]
        yield sum(record.key == b"policies" for record in entries) >= told - 1


def meters(begin: int, end: int, random: Random) -> Iterator[Placed]:
    for tick in range(begin, end):
        for user in range(USERS):
            when = (FIRST + tick) * SECOND + random.randrange(SECOND)
            value = orjson.dumps({"at": when, "kw": round(random.uniform(0.0, 5.0), 2)})
            yield Placed(user % PARTITIONS, Record(b"meter-%d" % user, value))
