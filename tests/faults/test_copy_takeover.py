"""Copies of one pipeline hand partitions over, and nothing counts twice, whoever goes wrong."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from threading import Timer
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from fugu.dataflows.base.errors import DeliveryFailed, GivenAway, ReleaseMismatch, StartRefused
from fugu.dataflows.base.metrics import FOREIGN_WRITES
from fugu.dataflows.copies.accounts import Account
from fugu.dataflows.copies.instance import transactional_id
from fugu.dataflows.copies.planning import planned
from fugu.dataflows.copies.predecessors import Predecessors
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.client import GroupMetadata
from fugu.dataflows.kafka.native.copy_writer import NativeCopyWriter
from fugu.dataflows.kafka.native.group_member import NativeGroupMember
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.state import changelog
from fugu.dataflows.state.changelog import FIRST, Header, Progress, written
from tests.faults.copies import FEW, House, committed, run_to_its_end, step, take_in
from tests.kafka.pipelines import OTHER_SECRET, PATIENCE_SECONDS
from tests.kafka.records import Placed, Record, produce, read_settled, read_topic
from tests.kafka.topics import TopicFactory


def test_what_is_on_its_way_is_neither_cut_nor_joined_by_more(house: House) -> None:
    copy = house.first()
    house.feed()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (items := copy.next_batch()):
        assert time.monotonic() < deadline, "nothing arrives"
        time.sleep(0.01)
    house.feed()
    time.sleep(0.3)
    assert copy.next_batch() == []
    for taken in items:
        copy.write(taken, copy.published(copy.sanitized(taken, copy.decoded(taken))))
    take_in(copy, house.fed)
    copy.cut()
    house.require_one_outcome_each()


def test_closing_commits_nothing_and_the_successor_publishes_the_same_bytes(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    tails, look = list[int](), Account.look

    def looked(account: Account, *places: Any, **begun: Any) -> None:
        look(account, *places, **begun)
        tails.append(len(account.tail))

    copy = house.first()
    take_in(copy, house.feed())
    copy.cut()
    take_in(copy, house.feed())
    copy._writer.acknowledge()
    copy.close()
    assert copy.owned == {}
    assert len(house.released()) == FEW
    assert len(house.released("read_uncommitted")) == 2 * FEW
    monkeypatch.setattr(Account, "look", looked)
    successor = house.successor()
    assert tails == [FEW, 0]
    take_in(successor, house.fed)
    assert not any(account.tail for account in successor.owned[0].accounts)
    successor.cut()
    house.require_one_outcome_each()


def test_noise_that_is_drawn_anew_after_an_abort_stops_the_pipeline(house: House) -> None:
    copy = house.first()
    take_in(copy, house.feed())
    copy._writer.acknowledge()

    def other_noise(plan: StreamsPlan) -> StreamsPlan:
        assert isinstance(plan.stage, PerRecord)
        scope = replace(plan.stage.scope, law=bytes(32))
        return replace(plan, stage=replace(plan.stage, scope=scope))

    with pytest.raises(ReleaseMismatch, match="release_mismatch"):
        take_in(house.successor(other_noise), house.fed)
    house.copies.close()
    assert house.released() == []


def test_no_membership_but_the_present_one_commits(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of these commits; nobody can say whether Kafka or the copy refused the last two."""
    gone = GroupMetadata(b"CGMDv2:\xff\xff\xff\xff\0\0\1", -1, "", "")
    first = house.first()
    take_in(first, house.feed())
    with monkeypatch.context() as planted:
        planted.setattr(first._member, "metadata", lambda: gone)
        planted.setattr(first._writer, "send_offsets", _never)
        with pytest.raises(GivenAway):
            first.cut()
    first.close()
    second = house.successor()
    before = second._member.metadata()
    third = house.copies.join("third")
    house.copies.settle(1, 0)
    while second._member.metadata().generation == before.generation:
        step(second), step(third)
    take_in(second, house.fed)
    with monkeypatch.context() as planted:
        planted.setattr(second._member, "metadata", lambda: before)
        with pytest.raises(GivenAway, match="ILLEGAL_GENERATION"):
            second.cut()
    second.close()
    house.copies.running.remove(second)
    house.copies.settle(1)
    take_in(third, house.fed)
    with monkeypatch.context() as planted:
        other = replace(third._member.metadata(), member="somebody-else")
        planted.setattr(third._member, "metadata", lambda: other)
        planted.setattr(third._writer, "send_offsets", _never)
        with pytest.raises(GivenAway):
            third.cut()
    assert house.released() == []
    last = house.successor()
    take_in(last, house.fed)
    last.cut()
    house.require_one_outcome_each()


def _never(*_: Any) -> None:
    raise AssertionError("this must not be sent")


def test_a_restore_waits_for_an_open_transaction_and_reads_what_is_committed_behind_it(
    house: House,
) -> None:
    """A reader that stops where a reader of committed records ends would miss the newest block."""
    copy = house.first()
    take_in(copy, house.feed())
    copy.cut()
    foreign = house.copies.planned.client.copy_writer("fugu-test-foreign", 60_000)
    foreign.put(house.state, 0, [(b"open", b"transaction")])
    foreign.acknowledge()
    take_in(copy, house.feed())
    copy.cut()
    assert copy.metrics.values(FOREIGN_WRITES) == {(house.state, "0"): 1}
    copy.close()
    with closing(foreign):
        Timer(2.0, foreign.abandon).start()
        began = time.monotonic()
        successor = house.successor()
    assert time.monotonic() - began > 1.5
    assert successor.owned[0].position >= house.fed
    assert len(successor.owned[0].table) == 7
    house.require_one_outcome_each()


@pytest.mark.parametrize("killed_in", ["send_offsets", "commit"])
def test_a_copy_that_died_while_it_claimed_a_partition_holds_up_nobody(
    house: House, monkeypatch: pytest.MonkeyPatch, killed_in: str
) -> None:
    """Only what it has not committed names it. Kafka would end its transaction after 10 to 20 s."""
    first = house.first()
    take_in(first, house.feed())
    first.cut()
    with monkeypatch.context() as planted:
        planted.setattr(NativeCopyWriter, killed_in, _killed)
        with pytest.raises(_Killed):
            house.successor()
    [dead] = house.copies.running
    dead._member.close()
    house.copies.running.clear()
    began = time.monotonic()
    house.successor()
    assert time.monotonic() - began < 8


class _Killed(BaseException):
    """What no handler takes for an error."""


def _killed(*_: Any) -> None:
    raise _Killed


def test_a_generation_that_is_aborted_takes_nothing_back(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    copy = house.first()
    take_in(copy, house.feed())
    copy.cut()
    monkeypatch.setattr(changelog, "_LEAST_GENERATION_BYTES", 0)
    for _ in range(3):
        take_in(copy, house.feed())
        copy.cut()
    generation = copy.owned[0].chain.generation
    take_in(copy, house.feed())
    with monkeypatch.context() as planted:
        planted.setattr(copy._writer, "commit", lambda: copy._writer.acknowledge())
        copy.owned[0].chain.later_bytes = 10**9
        copy.cut()
    assert copy.owned[0].chain.generation > generation
    with caplog.at_level("INFO"):
        successor = house.successor()
    assert f"taken over at offset {house.fed - FEW}," in caplog.text
    take_in(successor, house.fed)
    successor.cut()
    house.require_one_outcome_each()


def test_who_commits_state_without_positions_is_found_by_the_owner_and_by_its_successor(
    house: House,
) -> None:
    """What a copy that has lost its partition could do, if it did not send its positions."""
    copy = house.first()
    take_in(copy, house.feed())
    copy.cut()
    zombie = house.copies.planned.client.copy_writer("fugu-test-zombie", 10_000)
    with closing(zombie):
        house.copies.planned.state.put(zombie, {0: [(b"1/9/0/1", b"a block")]})
        zombie.commit()
    take_in(copy, house.feed())
    with pytest.raises(StartRefused, match="two_owners"):
        copy.cut()
    with pytest.raises(StartRefused, match="somebody else wrote to it"):
        house.successor()
    assert len(house.released()) == FEW


def test_a_committed_release_that_no_state_knows_of_is_two_owners(house: House) -> None:
    copy = house.first()
    take_in(copy, house.feed())
    copy.cut()
    record = Record(b"user", b"{}", (("fugu-release", b"unknown"),))
    produce(house.bootstrap, house.document["sink"]["topic"], [Placed(0, record)])
    with pytest.raises(StartRefused, match=r"two_owners.*21 committed releases"):
        house.successor()


def test_partitions_that_stay_are_not_read_back_when_copies_come_and_go(
    make: Callable[[int], House],
) -> None:
    house = make(4)
    first = house.first()
    for partition in range(4):
        take_in(first, house.feed(partitions=[partition]) and FEW, partition)
    tables = {p: owned.table for p, owned in first.owned.items()}
    second = house.copies.join("second")
    house.copies.settle(2, 2)
    assert all(owned.table is tables[p] for p, owned in first.owned.items())
    assert sum(len(owned.table) for owned in second.owned.values()) == 14
    second.plan.stop.request()
    with pytest.raises(StopIteration):
        step(second)
    house.copies.running.remove(second)
    house.copies.settle(4)
    assert committed(house.bootstrap, house.document, read_settled) == 4 * FEW


@pytest.mark.slow
def test_a_broker_that_is_slow_to_tell_positions_shuts_out_no_copy_that_lives(
    make: Callable[[int], House], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = make(2)
    first = house.first()
    take_in(first, house.feed(partitions=[0, 1]))
    first.cut()
    second = house.copies.join("second")
    member = second._member
    assert isinstance(member, NativeGroupMember)
    monkeypatch.setattr(member, "_asking", _Slow(member._ask()))
    with caplog.at_level("INFO"):
        house.copies.settle(1, 1)
    assert "no transaction of a copy is open; waiting" in caplog.text
    assert second._takeover.predecessors.tried == set()
    house.feed(partitions=[0, 1])
    for copy in (first, second):
        take_in(copy, house.fed, *copy.owned)
        copy.cut()
    assert committed(house.bootstrap, house.document, read_settled) == 4 * FEW


def test_a_copy_that_stood_still_and_is_asked_to_stop_hears_the_group_before_its_last_cut(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Kafka does with that cut, and how long it takes, would say nothing of who goes on."""
    copy = house.first()
    take_in(copy, house.feed())
    copy.plan.stop.request()
    monkeypatch.setattr(copy._member, "_session_seconds", 0.0)
    monkeypatch.setattr(copy._member, "listen", copy.lost)
    monkeypatch.setattr(copy._writer, "send_offsets", _never)
    with pytest.raises(GivenAway, match="given all partitions to other copies"):
        copy.next_batch()
    assert house.released() == []


@pytest.mark.slow
def test_what_others_have_open_in_the_sink_shuts_out_no_copy_that_gave_its_partition_up(
    make: Callable[[int], House],
) -> None:
    """As a broker that is slow to mark a commit: nothing of the copy is open."""
    house = make(2)
    first = house.first()
    sink, open_in_sink = house.document["sink"]["topic"], house.open_elsewhere("fugu-test-foreign")
    for partition in (0, 1):
        open_in_sink.put(sink, partition, [(b"open", b"transaction")])
    open_in_sink.acknowledge()
    take_in(first, house.feed(partitions=[0, 1]))
    second = house.copies.join("second")
    with closing(open_in_sink):
        began = time.monotonic()
        Timer(3.0, open_in_sink.abandon).start()
        house.copies.settle(1, 1)
    assert time.monotonic() - began > 2.5
    assert second._takeover.predecessors.tried == set()
    house.feed(partitions=[0, 1])
    for copy in (first, second):
        take_in(copy, house.fed, *copy.owned)
        copy.cut()
    assert committed(house.bootstrap, house.document, read_settled) == 4 * FEW


def test_of_those_who_write_to_a_state_only_who_holds_it_up_is_shut_out(
    house: House, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be aborted is said, and not that it was."""
    copy = house.first()
    take_in(copy, house.feed())
    made = house.copies.planned
    dead = house.open_elsewhere(transactional_id(made.plan.name, "dead"))
    with closing(dead):
        made.state.put(dead, {0: [(b"9/0/0/1", block_of("dead"))]})
        copy.cut()
        looking = Predecessors(made.plan, made.client, made.state, "looking", 10_000)
        with caplog.at_level("INFO"), monkeypatch.context() as planted:
            planted.setattr(NativeCopyWriter, "__init__", _without_a_right)
            looking.end_open(0)
        assert "what copy dead has left open could not be aborted" in caplog.text
        assert "Grant Write" in caplog.text
        assert "is shut out" not in caplog.text
        looking.tried.clear()
        with caplog.at_level("INFO"):
            looking.end_open(0)
        assert looking.tried == {"dead"}
        assert "copy dead is shut out" in caplog.text
    take_in(copy, house.feed())
    copy.cut()
    house.require_one_outcome_each()


def block_of(instance: str) -> bytes:
    """What a copy writes that claims a partition."""
    said = Progress(position=0, ends={}, published={}, instance=instance, epoch=1)
    return written(Header(**said.model_dump(), partition=0, before=FIRST.hex()), b"")


def _without_a_right(*_: Any) -> None:
    raise DeliveryFailed("Grant Write on transactional ids.")


class _Slow:
    """A client whose questions for positions time out for a while, from the first one on."""

    def __init__(self, asking: Consumer) -> None:
        self._asking = asking
        self._until = 0.0

    def committed(self, wanted: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        self._until = self._until or time.monotonic() + 2.5
        if time.monotonic() < self._until:
            time.sleep(0.2)
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return self._asking.committed(wanted, timeout=timeout)

    def close(self) -> None:
        self._asking.close()


def test_an_encrypted_state_shows_no_key_and_opens_nowhere_else(
    make: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUGU_TEST_STATE_SECRET", OTHER_SECRET)
    plain, house = make(1), make(1, encrypt={"env": "FUGU_TEST_STATE_SECRET"})
    for one in (plain, house):
        copy = one.first()
        take_in(copy, one.feed())
        copy.cut()
        copy.close()
    assert b"user-3" in content(plain)
    assert b"user-" not in content(house)
    assert len(house.successor().owned[0].table) == 7
    house.copies.close()
    file = PipelineFile.read(house.copies.pipeline)
    monkeypatch.setenv("FUGU_TEST_STATE_SECRET", "ef" * 32)
    with pytest.raises(StartRefused, match="encrypted with another secret"):
        planned(file, StopFlag(), None)
    *_, last = read_topic(house.bootstrap, house.state)[0]
    produce(house.bootstrap, house.state, [Placed(0, Record(b"1/9/0/1", last.value))])
    monkeypatch.setenv("FUGU_TEST_STATE_SECRET", OTHER_SECRET)
    assert len(house.successor().owned[0].table) == 7


def content(house: House) -> bytes:
    """All that the state topic holds."""
    records = read_topic(house.bootstrap, house.state)[0]
    return b"".join((record.key or b"") + (record.value or b"") for record in records)


def test_streams_are_finished_once_whoever_dies_over_it(
    make: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = make(1, {"operator": {"kind": "threshold_perturbation", "window": 3, "threshold": 2}})
    copy = house.first()
    take_in(copy, house.feed())
    copy.cut()
    before = values(house)
    assert 0 < len(before) < FEW
    house.copies.close()
    house.copies.running.clear()

    def finishing(plan: StreamsPlan) -> StreamsPlan:
        return replace(plan, finishing="drain")

    dying = house.copies.join("dying", finishing)
    monkeypatch.setattr(dying._writer, "send_offsets", _die)
    with pytest.raises(GivenAway):
        run_to_its_end(dying)
    dying.close()
    run_to_its_end(house.copies.join("next", finishing))
    records = house.released()
    assert len(values(house)) > len(before)
    assert set(house.released("read_uncommitted")) == set(records)
    run_to_its_end(house.copies.join("again", finishing))
    assert house.released() == records
    house.copies.running.clear()
    with pytest.raises(StartRefused, match="its streams are finished"):
        house.successor()


def values(house: House) -> list[bytes]:
    """What was let out, and not the slots that nothing was in."""
    return [one.value or b"" for one in house.released() if b"rest" in (one.value or b"")]


def _die(*_: Any) -> None:
    raise GivenAway("killed between its records and its positions")


def test_the_ledger_counts_what_is_committed_and_budgets_go_on(
    make: Callable[..., House], topics: TopicFactory
) -> None:
    ledger = topics("ledger", partitions=1, configs={"cleanup.policy": "compact"})
    budget = {"total": 6.0, "when_exhausted": "suppress"}
    house = make(1, {"ledger": {"topic": ledger}, "budget": budget})
    copy = house.first()
    take_in(copy, house.feed())
    copy.cut()
    spent = copy.owned[0].table.column("spent").tolist()
    take_in(copy, house.feed())
    paid = copy.owned[0].table.column("spent").tolist()
    assert paid > spent
    copy._writer.acknowledge()
    successor = house.successor()
    take_in(successor, house.fed)
    assert successor.owned[0].table.column("spent").tolist() == paid
    take_in(successor, house.feed(200))
    successor.cut()
    entries = [one for one in read_topic(house.bootstrap, ledger)[0] if one.headers]
    names = [one.headers[0] for one in entries]
    assert len(names) == len(set(names)) >= 7 * 6
    assert set(entries) == {
        one for one in read_topic(house.bootstrap, ledger, "read_uncommitted")[0] if one.headers
    }
