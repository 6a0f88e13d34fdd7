"""Policies come and go while records flow and processes are killed: no trace in what is released.

Two pipelines read the same records and the same topic of changes. One is never disturbed; the other
one's processes are killed around every change.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from functools import partial
from pathlib import Path
from random import Random

import orjson
import pytest
from kafka import KafkaConsumer

from tests.faults.households import (
    PARTITIONS,
    addition,
    at,
    figures_of,
    meters,
    pipeline,
    policy,
    write_household,
)
from tests.kafka.pipelines import Document, RunningPipeline, running
from tests.kafka.records import Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

SHARDS, TICKS, STAGE = 2, 60, 12
Change = tuple[int, Placed]
"""At which tick it is written, and how."""


def test_policies_that_change_under_kills_leave_the_series_of_an_undisturbed_run(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("power", partitions=PARTITIONS)
    changes = topics("policies", configs={"cleanup.policy": "compact"})
    documents = [pipeline(bootstrap, topics, source, changes) for _ in range(2)]
    there, here = (
        write_household(tmp_path / name, document, POLICIES)
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
            produce(bootstrap, changes, [placed for _, placed in new])
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
    figures = figures_of(bootstrap, documents[0])
    asked = [figures[tick]["sensitivity"] for tick in range(TICKS - 2)]
    assert asked == pytest.approx(EXPECTED[: TICKS - 2])
    assert {figure["status"] for figure in figures.values()} >= {"sampled", "repeated"}
    for start, end, _ in OPENED:
        inside = [one for tick, one in figures.items() if start <= tick <= end]
        spent = [one["decision_epsilon"] + one["publication_epsilon"] for one in inside]
        assert max(spent) > 0
        assert sum(sorted(spent)[-1:]) <= 1.0 + 1e-9
    [refused] = read_topic(bootstrap, topics_of[0]["dead_letters"])[0]
    assert orjson.loads(refused.value or b"")["reason"] == "bad_policy"
    assert "home/typing: policy.theta" in orjson.loads(refused.value or b"")["field"]
    assert "home/typing: policy.theta" in said
    assert "home/visit is added" in said
    assert "nothing is protected by it" in said
    assert "home/sauna is removed" in said


def added(when: int, effective: int, name: str, start: int, end: int, theta: float) -> Change:
    return when, addition(effective, name, start, end, theta)


def removed(when: int, effective: int, name: str) -> Change:
    """The change that removes a policy."""
    change = {"effective": at(effective), "remove": True}
    return when, Placed(0, Record(f"home/{name}".encode(), orjson.dumps(change)))


def shard(path: Path, number: int) -> AbstractContextManager[RunningPipeline]:
    return running(path, "--shard", f"{number}/{SHARDS}")


POLICIES = [policy("tea", 4, 9, 1.0), policy("sauna", 30, 35, 4.0), policy("sauna2", 46, 51, 4.0)]
CHANGES: list[Change] = [
    added(0, 20, "guests", 22, 26, 2.0),
    added(1, 16, "typing", 18, 19, -1.0),
    added(12, 32, "visit", 33, 40, 3.0),
    added(24, 36, "party", 37, 39, 2.0),
    removed(24, 40, "sauna2"),
    removed(24, 38, "sauna"),
    added(36, 50, "late", 52, 55, 1.5),
]
OPENED = [(4, 9, 1.0), (22, 26, 2.0), (30, 35, 4.0), (33, 40, 3.0), (52, 55, 1.5)]
"""The ticks that are protected: the visit is known before the sauna begins, which it overlaps; the
party would overlap the visit, which is open when the party becomes known; the second sauna is gone
before it begins, the first one ran to its end."""
EXPECTED = [
    min(5.0, sum(theta for start, end, theta in OPENED if start <= tick <= end))
    for tick in range(TICKS)
]


def policy_entries(bootstrap: str, documents: list[Document], told: int) -> Iterator[bool]:
    """Yield whether the internal logs hold all changes but the one that is refused."""
    for document in documents:
        entries = read_topic(bootstrap, document["sink"]["partials"])[0]
        yield sum(record.key == b"policies" for record in entries) >= told - 1
