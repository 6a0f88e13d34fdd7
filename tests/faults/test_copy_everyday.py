"""Let happen to topics and copies what happens every day: no fault, and nothing is refused."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from kafka import KafkaAdminClient, TopicPartition

from fugu.dataflows.base.errors import GivenAway, StartRefused
from fugu.dataflows.copies.copy import Copy
from fugu.dataflows.copies.sole_member import _Heard
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.client import identity_of
from fugu.dataflows.kafka.native.settings import MEMBER
from fugu.dataflows.state import changelog
from tests.faults.copies import FEW, House, run_to_its_end, step, take_in
from tests.kafka.pipelines import PATIENCE_SECONDS
from tests.kafka.topics import TopicFactory
from tests.kafka.transactions import transaction, transactional_producer

SESSION_MILLISECONDS = 6_000
"""The shortest that a broker takes by default."""


def remove_all(house: House, topic: str) -> int:
    """Remove what a topic holds, marks of transactions too, as retention does; its end."""
    client, deadline = house.copies.planned.client, time.monotonic() + PATIENCE_SECONDS
    with closing(client.reader(topic, committed=False)) as reader:
        end = reader.bounds([0])[0].end
    with closing(client.reader(topic)) as reader:
        while (settled := reader.bounds([0])[0].end) < end:
            assert time.monotonic() < deadline, "a commit was not marked"
            time.sleep(0.05)
    end = settled
    with KafkaAdminClient(bootstrap_servers=house.bootstrap) as admin:
        admin.delete_records({TopicPartition(topic, 0): end})
    return end


def test_releases_that_retention_has_removed_are_not_missed(house: House) -> None:
    """A sink is kept for a week by default, and the state counts what it has released."""
    copy = house.first()
    take_in(copy, house.feed())
    copy.cut()
    assert remove_all(house, house.document["sink"]["topic"]) == FEW + 1
    successor = house.successor()
    take_in(successor, house.feed())
    successor.cut()
    assert len(house.released()) == FEW


def test_a_ledger_in_which_others_have_a_transaction_open_is_no_obstacle(
    make: Callable[..., House], topics: TopicFactory
) -> None:
    """A pipeline whose epochs take minutes nearly always has one open."""
    ledger = topics("ledger", partitions=1, configs={"cleanup.policy": "compact"})
    house = make(1, {"ledger": {"topic": ledger}, "budget": {"total": 6.0}})
    copy = house.first()
    other = house.copies.planned.client.copy_writer("fugu-test-other", 60_000)
    with closing(other):
        other.put(ledger, 0, [(b"of another", b"pipeline")])
        other.acknowledge()
        for _ in range(2):
            take_in(copy, house.feed())
            copy.cut()
        ledgers = [one for one in copy.owned[0].accounts if one.topic == ledger]
        assert [one.begin > 1 for one in ledgers] == [True]
        successor = house.successor()
        take_in(successor, house.feed())
        successor.cut()
    house.require_one_outcome_each()


def test_marks_behind_the_last_record_are_passed_though_nothing_follows(house: House) -> None:
    copy = house.first()
    take_in(copy, house.feed())
    copy.cut()
    with transactional_producer(house.bootstrap) as producer:
        transaction(producer, house.source, [b"never counts"] * 3, commit=False)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while copy._reader.position(0) == FEW:
        assert time.monotonic() < deadline
        step(copy)
    copy.cut()
    end = remove_all(house, house.source)
    assert house.successor().owned[0].position == end == FEW + 4


def test_a_partition_that_waits_for_a_schema_keeps_no_other_one_waiting(
    make: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = {0}
    monkeypatch.setattr(StreamsPlan, "is_ready", lambda _, batch: batch.partition not in waiting)
    house = make(2)
    copy = house.first()
    house.feed(partitions=[0])
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not copy._intake._held:
        assert time.monotonic() < deadline
        step(copy)
    house.feed(partitions=[1])
    take_in(copy, FEW, partition=1)
    copy.cut()
    assert copy.owned[0].position == 0
    waiting.clear()
    take_in(copy, FEW)
    assert copy._intake._held == []


def test_nothing_is_finished_while_another_copy_has_a_partition(
    make: Callable[..., House],
) -> None:
    """Nobody else goes on with a partition whose streams are finished."""
    house = make(2, {"operator": {"kind": "threshold_perturbation", "window": 3, "threshold": 2}})
    first = house.first()
    end = house.feed(partitions=range(2))
    for partition in range(2):
        take_in(first, end, partition)
    first.cut()

    def finishing(plan: StreamsPlan) -> StreamsPlan:
        return replace(plan, finishing="drain")

    finisher = house.copies.join("finisher", finishing)
    house.copies.settle(1, 1)
    for _ in range(10):
        step(finisher)
    finisher.cut()
    finisher.close()
    house.copies.running.remove(finisher)
    house.copies.settle(2)
    assert not any(owned.finished for owned in first.owned.values())


def test_a_copy_that_is_given_added_partitions_alone_says_that_it_is_spare(house: House) -> None:
    house.first()
    second = house.copies.join("second")
    house.copies.settle(1, 0)
    second.given([1], "second")
    assert second.metrics.standing.spare
    step(second)
    assert second.owned == {}


def take_in_both(copy: Copy, house: House) -> None:
    """Commit what is fed to two partitions."""
    end = house.feed(partitions=range(2))
    for partition in range(2):
        take_in(copy, end, partition)
    copy.cut()


def test_a_version_with_another_law_is_refused_beside_copies_that_go_on(
    make: Callable[..., House],
) -> None:
    """The start of a process refuses it before; here it is in the group already."""
    house = make(2)
    first = house.first()
    take_in_both(first, house)

    def newer(plan: StreamsPlan) -> StreamsPlan:
        changed = {"implementation": plan.fingerprint.implementation + 1}
        return replace(plan, fingerprint=plan.fingerprint.model_copy(update=changed))

    other = house.copies.join("newer", newer)
    with pytest.raises(StartRefused, match="another version of Fugu wrote the state"):
        house.copies.settle(1, 1)
    other.close()
    house.copies.running.remove(other)
    house.copies.settle(2)
    take_in_both(first, house)
    for partition in range(2):
        house.require_one_outcome_each(partition)


def test_a_version_before_is_refused_what_one_with_other_blocks_has_written(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A roll back after a version that writes another format says whose the state is."""
    first = house.first()
    take_in(first, house.feed())
    first.cut()
    first.leave()
    house.copies.running.clear()
    as_today = changelog.written
    with monkeypatch.context() as newer:
        newer.setattr(
            changelog,
            "written",
            lambda *block: as_today(*block).replace(b'"format":1', b'"format":2'),
        )
        second = house.first("newer")
        take_in(second, house.feed())
        second.cut()
        second.leave()
    house.copies.running.clear()
    with pytest.raises(StartRefused, match=r"has format 2: another version.* reads format 1"):
        house.successor()
    assert len(house.released()) == 2 * FEW


@pytest.mark.slow
def test_a_copy_that_stood_still_in_a_restore_begins_again_and_is_not_refused(
    make: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let its successor write meanwhile: to it that looks as if somebody had reset the group."""
    house = make(1)
    first = house.first()
    take_in(first, house.feed())
    first.cut()
    first.close()
    house.copies.running.clear()
    for setting in "session.timeout.ms", "max.poll.interval.ms":
        monkeypatch.setitem(MEMBER, setting, SESSION_MILLISECONDS)
    sleeper = house.copies.join("sleeper")
    original = sleeper._takeover._owned

    def after_a_pause(partition: int, committed: int | None) -> Any:
        awake = house.copies.join("awake")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not awake.owned:
            assert time.monotonic() < deadline
            step(awake)
            time.sleep(0.01)
        take_in(awake, house.feed())
        awake.cut()
        return original(partition, committed)

    monkeypatch.setattr(sleeper._takeover, "_owned", after_a_pause)
    with pytest.raises(GivenAway):
        run_to_its_end(sleeper)
    house.require_one_outcome_each()


def test_positions_are_told_while_another_member_keeps_the_group_waiting(
    make: Callable[..., House],
) -> None:
    """For an aggregate, it may be the other member of the same process, which waits for this."""
    house = make(2)
    first, second = house.first(), house.copies.join("second")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(first.owned) == 2:
        assert time.monotonic() < deadline
        step(first)
        time.sleep(0.01)
    house.copies.join("third")
    time.sleep(1.0)
    assert second.owned == {}, "it has not heard yet that it owns something"
    assert first._member.committed([0, 1], 5.0, lambda: None).keys() == {0, 1}
    while sum(len(copy.owned) for copy in house.copies.running) < 2:
        assert time.monotonic() < deadline
        for copy in house.copies.running:
            step(copy)


def test_a_copy_ends_though_it_has_not_heard_that_the_group_deals_anew(
    make: Callable[..., House],
) -> None:
    """librdkafka waits for ever in that place, and its heartbeats go on."""
    house = make(4)
    first, second = house.first(), house.copies.join("second")
    until = time.monotonic() + 0.6
    while time.monotonic() < until:
        step(second)
        time.sleep(0.02)
    first.close()
    house.copies.running.remove(first)
    house.copies.settle(4)


def test_a_position_is_read_while_the_group_waits_for_a_member_that_does_not_listen(
    house: House,
) -> None:
    """As the merge of the same copy does not, while partitions are taken over. Whoever asked on the
    connection on which it has joined again would be answered once all have, or after 15 minutes."""
    client, topic = house.copies.planned.client, house.source
    first = house.first()
    before = generation = first._member.metadata().generation
    others = [client.member(identity_of(house.document["name"]), topic, _Heard())]
    until = time.monotonic() + PATIENCE_SECONDS
    while generation == before:
        assert time.monotonic() < until
        step(first)
        generation = first._member.metadata().generation
    others.append(client.member(identity_of(house.document["name"]), topic, _Heard()))
    until = time.monotonic() + 4
    while time.monotonic() < until:
        step(first)
        time.sleep(0.01)
    assert first._member.metadata().generation == generation, "the group does not wait"
    began = time.monotonic()
    assert first._member.committed([0], 10.0, lambda: None) == {0: 0}
    assert time.monotonic() - began < 3
    for one in others:
        one.close()
