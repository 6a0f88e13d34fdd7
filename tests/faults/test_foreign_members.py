"""Whoever joins the group of a pipeline is noticed: who takes partitions, or keeps copies out."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer

from fugu.dataflows.copies.copy import Copy
from fugu.dataflows.kafka.client import identity_of
from fugu.dataflows.monitoring.group_watch import Dealt, GroupWatch
from tests.faults.copies import FEW, House, step, take_in
from tests.kafka.pipelines import PATIENCE_SECONDS

LATER = 60.0


@contextmanager
def console_consumer(house: House, strategy: str) -> Iterator[Consumer]:
    """A consumer that somebody starts under the group of a pipeline."""
    settings = {
        "bootstrap.servers": house.bootstrap,
        "group.id": identity_of(house.document["name"]),
        "client.id": "console-consumer",
        "partition.assignment.strategy": strategy,
        "session.timeout.ms": 6_000,
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    consumer.subscribe([house.source])
    try:
        yield consumer
    finally:
        consumer.close()


def watch_of(house: House, copy: Copy) -> GroupWatch:
    stored, client = house.copies.planned.plan.fingerprint, house.copies.planned.client
    group = identity_of(house.document["name"])
    dealt = [Dealt(house.source, group, stored.partitions)]
    return GroupWatch(dealt, copy.metrics.standing, client.groups)


def noticed(watch: GroupWatch) -> list[str]:
    """What is noticed, if all stays so for a minute."""
    watch.look()
    return [notice.text for notice in watch.notices(time.monotonic() + LATER)]


def step_until(copy: Copy, consumer: Consumer, reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        assert time.monotonic() < deadline, "it did not come to that"
        consumer.poll(0.05)
        step(copy)


def test_a_partition_that_a_console_consumer_takes_is_named(make: Callable[..., House]) -> None:
    house = make(2)
    copy = house.first()
    end = house.feed(partitions=range(2))
    for partition in range(2):
        take_in(copy, end, partition)
    copy.cut()
    watch = watch_of(house, copy)
    assert noticed(watch) == []
    with console_consumer(house, "cooperative-sticky") as consumer:
        step_until(copy, consumer, lambda: len(copy.owned) == len(consumer.assignment()) == 1)
        [taken] = {0, 1} - copy.owned.keys()
        [text] = noticed(watch)
        assert f"topic {house.source}, partition {taken}: for 60 s nobody has read it" in text
        assert "given it to console-consumer at 127.0.0.1, which is no copy of it" in text
        groups = house.copies.planned.client.groups()
        group = identity_of(house.document["name"])
        committed = groups.committed(group, [(house.source, taken)])
        assert committed[house.source, taken] in (FEW, FEW + 1)
        assert groups.partitions(house.source) == 2
    house.copies.settle(2)
    assert noticed(watch) == []


def test_a_consumer_that_keeps_copies_out_is_named_by_the_error(
    make: Callable[..., House], caplog: pytest.LogCaptureFixture
) -> None:
    house = make(1)
    with console_consumer(house, "range") as consumer:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not consumer.assignment():
            assert time.monotonic() < deadline
            consumer.poll(0.05)
        copy = house.copies.join("kept-out")
        joining = copy.metrics.standing.joining[house.source]
        step_until(copy, consumer, lambda: joining.error != "")
        again = time.monotonic() + 2
        step_until(copy, consumer, lambda: time.monotonic() > again)
        told = noticed(watch_of(house, copy))
        assert "does not let this process join (INCONSISTENT_GROUP_PROTOCOL)" in told[0]
        assert "partition 0: for 60 s" in told[1]
        assert "given it to console-consumer" in told[1]
    said = [line for line in caplog.records if "INCONSISTENT_GROUP_PROTOCOL" in line.getMessage()]
    assert len(said) == 1, "once, and not at every poll"
    house.copies.settle(1)
    assert noticed(watch_of(house, copy)) == []
