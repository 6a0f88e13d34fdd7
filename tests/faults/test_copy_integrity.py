"""Whatever strangers write to a state topic counts for nothing, and what is lost is missed.

A stranger may read the topic, write to it and take records back, and has no secret. Whoever has
reset the group, or removed records, makes a start refuse, each in its own words.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from fugu.dataflows.base.errors import KafkaUnavailable, StartRefused
from fugu.dataflows.base.metrics import FOREIGN_WRITES
from fugu.dataflows.copies.owned import Owned
from fugu.dataflows.copies.planning import looked_at_copy
from fugu.dataflows.copies.takeover import Takeover
from fugu.dataflows.copies.work import fresh_table
from fugu.dataflows.kafka.client import Entry, GroupMember, GroupMetadata
from fugu.dataflows.kafka.native.copy_writer import NativeCopyWriter
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.state.changelog import Chain, Place, Progress
from fugu.dataflows.state.moved_state import MovedState
from fugu.dataflows.state.state_topic import FINGERPRINT, StateTopic
from fugu.operators.randomness import Secret
from tests.faults.copies import FEW, House, take_in
from tests.kafka.compaction import EAGER_BROKER, EAGER_TOPIC
from tests.kafka.pipelines import SECRET, SECRET_VARIABLE
from tests.kafka.records import Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory

STATE_SECRET = "FUGU_TEST_STATE_SECRET"
STREAMS = 7
DEADLINE_SECONDS = 60


class Stands(GroupMember):
    """A group that stands at the same offset everywhere, or has forgotten it."""

    def __init__(self, offset: int | None) -> None:
        self._offset = offset

    def committed(
        self, partitions: Sequence[int], seconds: float, meanwhile: object
    ) -> dict[int, int | None]:
        return dict.fromkeys(partitions, self._offset)

    def poll(self, seconds: float = 0.0) -> None:
        return

    @property
    def stood_still(self) -> bool:
        return False

    def listen(self) -> None:
        return

    def metadata(self) -> GroupMetadata:
        raise AssertionError("nothing is committed here")

    def close(self) -> None:
        return


def blocks(house: House, partition: int) -> list[Record]:
    records = read_topic(house.bootstrap, house.state)[partition]
    return [r for r in records if Place.of(r.key) and r.value is not None]


def write(house: House, partition: int, *entries: Entry) -> None:
    records = [Placed(partition, Record(key, value)) for key, value in entries]
    produce(house.bootstrap, house.state, records)


def key_of(record: Record) -> bytes:
    assert record.key is not None
    return record.key


def empty_table(house: House, partition: int) -> list[Entry]:
    """A block that says that everything is read, and nobody has spent anything."""
    topics = house.document["sink"]
    progress = Progress(
        position=3 * FEW,
        ends={topics[one]: {str(partition): 0} for one in ("topic", "dead_letters")},
        published={topics["topic"]: 3 * FEW, topics["dead_letters"]: 0},
        instance="stranger",
        epoch=1,
    )
    return Chain(partition).append(fresh_table(house.copies.planned.plan), progress)


Attack = Callable[[House, int], None]


def forge_the_next_generation(house: House, partition: int) -> None:
    [(_, value)] = empty_table(house, partition)
    write(house, partition, (b"10/0/0/1", value))


def forge_with_another_secret(house: House, partition: int) -> None:
    """The stranger knows how Fugu seals, and has a secret of its own."""
    made = house.copies.planned
    own = StateTopic(made.client, made.state.topic, "stranger", None, Secret(bytes(31) + b"!"))
    [(_, value)] = empty_table(house, partition)
    with closing(house.open_elsewhere("fugu-test-stranger")) as writer:
        own.put(writer, {partition: [(b"10/0/0/1", value)]})
        writer.commit()


def forge_the_next_block(house: House, partition: int) -> None:
    generation, number, *_ = key_of(blocks(house, partition)[-1]).split(b"/")
    [(_, value)] = empty_table(house, partition)
    write(house, partition, (b"%s/%d/0/1" % (generation, int(number) + 1), value))


def copy_the_first_block(house: House, partition: int) -> None:
    first, *_ = blocks(house, partition)
    write(house, partition, (key_of(first), first.value))


def copy_an_earlier_state_to_a_new_generation(house: House, partition: int) -> None:
    first, second, *_ = blocks(house, partition)
    write(house, partition, (b"9/0/0/1", first.value), (b"9/1/0/1", second.value))


def copy_everything(house: House, partition: int) -> None:
    write(house, partition, *((key_of(one), one.value) for one in blocks(house, partition)))


def swap_the_last_two(house: House, partition: int) -> None:
    *_, one, other = blocks(house, partition)
    write(house, partition, (key_of(other), one.value), (key_of(one), other.value))


def copy_from_another_partition(house: House, partition: int) -> None:
    elsewhere = blocks(house, (partition + 1) % len(ATTACKS))
    write(house, partition, *((key_of(one), one.value) for one in elsewhere))


def take_every_block_back(house: House, partition: int) -> None:
    write(house, partition, *((key_of(one), None) for one in blocks(house, partition)))


def empty_every_block(house: House, partition: int) -> None:
    write(house, partition, *((key_of(one), b"") for one in blocks(house, partition)))


def say_that_it_belongs_to_something_else(house: House, partition: int) -> None:
    [said, *_] = [
        r for r in read_topic(house.bootstrap, house.state)[partition] if r.key == FINGERPRINT
    ]
    write(house, partition, (FINGERPRINT, (said.value or b"").replace(b"crr", b"grr")))


def take_back_what_it_belongs_to(house: House, partition: int) -> None:
    write(house, partition, (FINGERPRINT, None))


def say_that_it_was_moved(house: House, partition: int) -> None:
    said = MovedState("/nowhere", "stranger", "token", 0)
    write(house, partition, (FINGERPRINT, said.written(house.copies.planned.state.topic.identity)))


def write_rubbish(house: House, partition: int) -> None:
    """Kafka itself takes no record without a key in a compacted topic."""
    digits = b"9" * 5_000 + b"/0/0/1"
    write(house, partition, (digits, b"rubbish"), (b"rubbish", None), (b"", b""))


ATTACKS: list[Attack] = [
    forge_the_next_generation,
    forge_with_another_secret,
    forge_the_next_block,
    copy_the_first_block,
    copy_an_earlier_state_to_a_new_generation,
    copy_everything,
    swap_the_last_two,
    copy_from_another_partition,
    take_every_block_back,
    empty_every_block,
    say_that_it_belongs_to_something_else,
    take_back_what_it_belongs_to,
    say_that_it_was_moved,
    write_rubbish,
]


@pytest.fixture(scope="module", params=["plain", "encrypted"])
def house(
    request: pytest.FixtureRequest,
    bootstrap: str,
    topics: TopicFactory,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[House]:
    """A pipeline that has stopped; every attack has a partition of its own."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(SECRET_VARIABLE, SECRET)
        environment.setenv(STATE_SECRET, "ab" * 32)
        encrypted = {"encrypt": {"env": STATE_SECRET}} if request.param == "encrypted" else {}
        path = tmp_path_factory.mktemp("house")
        house = House(bootstrap, topics, path, len(ATTACKS), **encrypted)
        copy = house.first()
        for _ in range(3):
            end = house.feed(partitions=range(len(ATTACKS)))
            for partition in range(len(ATTACKS)):
                take_in(copy, end, partition)
            copy.cut()
        copy.close()
        house.copies.running.clear()
        yield house
        house.copies.close()


def owned(house: House, partition: int, member: GroupMember | None = None) -> Owned[Any]:
    """Take a partition over."""
    made = house.copies.planned
    takeover = Takeover(made.plan, made.client, made.state, "next", 10_000)
    [taken] = takeover.owned([partition], member or Stands(3 * FEW))
    return taken


def rows(taken: Owned[Any]) -> tuple[int, int, bytes]:
    return taken.position, len(taken.table), taken.table.take_everything()


def foreign(house: House) -> float:
    return sum(house.copies.planned.plan.metrics.values(FOREIGN_WRITES).values())


def test_offsets_that_kafka_has_forgotten_do_not_matter(house: House) -> None:
    assert owned(house, 0, Stands(None)).position == 3 * FEW


@pytest.mark.parametrize("offset", [0, FEW, 3 * FEW + 1])
def test_a_group_that_was_reset_is_refused(house: House, offset: int) -> None:
    with pytest.raises(StartRefused, match="position_mismatch"):
        owned(house, 0, Stands(offset))


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_a_stranger_writes_is_passed_over_counted_and_said(
    house: House, attack: Attack, caplog: pytest.LogCaptureFixture
) -> None:
    partition = ATTACKS.index(attack)
    before, count = rows(owned(house, partition)), foreign(house)
    assert before[:2] == (3 * FEW, STREAMS)
    attack(house, partition)
    assert rows(owned(house, partition)) == before
    assert rows(owned(house, partition, Stands(None))) == before
    assert foreign(house) > count
    assert f"partition {partition}: " in caplog.text
    assert "records were not written there by this pipeline, and do not count" in caplog.text


def test_what_strangers_have_taken_back_is_written_again_before_kafka_removes_it(
    house: House,
) -> None:
    """All attacks at once, and Kafka compacts what there is then."""
    attacked = range(3)
    for partition in attacked:
        for attack in ATTACKS:
            attack(house, partition)
    copy = house.first("heir")
    copy.close()
    house.copies.running.clear()
    wait_for_compaction(house, attacked)
    for partition in attacked:
        position, streams, _ = rows(owned(house, partition))
        assert (position, streams) == (3 * FEW, STREAMS)


def test_a_block_that_kafka_has_removed_is_missed(make: Callable[..., House]) -> None:
    """A stranger took it back, and no start came before the compaction."""
    house = make(1)
    copy = house.first()
    for _ in range(3):
        take_in(copy, house.feed())
        copy.cut()
    copy.close()
    house.copies.running.clear()
    write(house, 0, (key_of(blocks(house, 0)[1]), None))
    wait_for_compaction(house, [0])
    for member in (Stands(3 * FEW), Stands(None)):
        with pytest.raises(StartRefused, match="lost records"):
            owned(house, 0, member)


def test_a_partition_of_which_a_stranger_removes_everything_is_never_begun_anew(
    make: Callable[..., House],
) -> None:
    """Not even where the group is forgotten, too: the sink knows that there was a state."""
    house = make(1)
    copy = house.first()
    take_in(copy, house.feed())
    copy.cut()
    copy.close()
    house.copies.running.clear()
    take_every_block_back(house, 0)
    wait_for_compaction(house, [0])
    with pytest.raises(StartRefused, match="would reset budgets"):
        owned(house, 0, Stands(FEW))
    with pytest.raises(StartRefused, match="two_owners"):
        owned(house, 0, Stands(None))
    take_back_what_it_belongs_to(house, 0)
    wait_for_compaction(house, [0])
    with pytest.raises(StartRefused, match="was removed"):
        owned(house, 0, Stands(FEW))


def test_a_copy_goes_on_while_a_stranger_takes_its_blocks_back(
    make: Callable[..., House], caplog: pytest.LogCaptureFixture
) -> None:
    house = make(1)
    copy = house.first()
    take_in(copy, house.feed())
    copy.cut()
    generation = copy.owned[0].chain.generation
    take_every_block_back(house, 0)
    take_back_what_it_belongs_to(house, 0)
    take_in(copy, house.feed())
    copy.cut()
    assert "do not count" in caplog.text
    assert copy.owned[0].chain.generation == generation
    copy.cut()
    assert copy.owned[0].chain.generation == generation + 1
    wait_for_compaction(house, [0])
    take_in(house.successor(), house.feed())
    house.copies.running[0].cut()
    house.require_one_outcome_each()


def test_what_a_stranger_takes_back_while_a_cut_is_committed_is_written_again(
    make: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands between the last block and the mark of its transaction, where no block will be."""
    house, commit = make(1), NativeCopyWriter.commit
    copy = house.first()
    take_in(copy, house.feed())
    copy.cut()
    generation, count = copy.owned[0].chain.generation, foreign(house)

    def late(writer: NativeCopyWriter) -> None:
        take_back_what_it_belongs_to(house, 0)
        commit(writer)

    take_in(copy, house.feed())
    with monkeypatch.context() as once:
        once.setattr(NativeCopyWriter, "commit", late)
        copy.cut()
    take_in(copy, house.feed())
    copy.cut()
    assert foreign(house) == count + 1
    copy.cut()
    assert copy.owned[0].chain.generation == generation + 1
    wait_for_compaction(house, [0])
    take_in(house.successor(), house.feed())
    house.copies.running[0].cut()
    house.require_one_outcome_each()


def test_a_stranger_that_writes_between_the_pieces_of_a_block_spoils_none(
    make: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house, put, spoilt = make(1), NativeCopyWriter.put, list[int]()

    def interrupted(
        writer: NativeCopyWriter, topic: str, partition: int, records: Sequence[Entry]
    ) -> None:
        if topic == house.state and len(records) > 1 and len(spoilt) < 3:
            put(writer, topic, partition, records[:1])
            writer.acknowledge()
            write(house, partition, *records[1:])
            spoilt.append(partition)
            records = records[1:]
        put(writer, topic, partition, records)

    monkeypatch.setattr("fugu.dataflows.state.changelog.PIECE_BYTES", 300)
    copy = house.first()
    monkeypatch.setattr(NativeCopyWriter, "put", interrupted)
    for _ in range(3):
        take_in(copy, house.feed())
        copy.cut()
    assert len(spoilt) == 3
    copy.owned[0].renew()
    copy.cut()
    take_in(house.successor(), house.feed())
    house.copies.running[0].cut()
    house.require_one_outcome_each()


def wait_for_compaction(house: House, partitions: Sequence[int]) -> None:
    """Return once Kafka has kept nothing but the last record of each key that is there now."""
    change(house, {"cleanup.policy": "compact", **EAGER_TOPIC})
    with closing(KafkaAdminClient(bootstrap_servers=house.bootstrap)) as admin:
        ids = [str(broker["broker_id"]) for broker in admin.describe_cluster()["brokers"]]
        broker = ConfigResourceType.BROKER
        admin.alter_configs([ConfigResource(broker, one, configs=EAGER_BROKER) for one in ids])
    marked = time.time_ns()
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        assert time.monotonic() < deadline, "Kafka did not compact the topic"
        now = time.time_ns() // 1_000_000
        roll = [Placed(p, Record(b"roll", b"%d" % marked, timestamp=now)) for p in partitions]
        produce(house.bootstrap, house.state, roll)
        time.sleep(0.3)
        held = read_topic(house.bootstrap, house.state)
        if all(is_compacted(held[partition]) for partition in partitions):
            return


def is_compacted(records: list[Record]) -> bool:
    keys = [r.key for r in records if r.key not in (b"roll", None)]
    return len(keys) == len(set(keys))


def test_a_topic_that_would_delete_what_budgets_are_counted_in_is_refused(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    file = PipelineFile.read(house.copies.pipeline)
    change(house, {"cleanup.policy": "compact,delete", "retention.ms": "1000"})
    with pytest.raises(KafkaUnavailable, match=r"set cleanup\.policy=compact"):
        looked_at_copy(file, None)
    with closing(KafkaAdminClient(bootstrap_servers=house.bootstrap)) as admin:
        admin.delete_topics([house.state])
    with pytest.raises(StartRefused, match="there is no state for them"):
        looked_at_copy(file, None)


def change(house: House, configs: dict[str, str]) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=house.bootstrap)) as admin:
        admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, house.state, configs=configs)]
        )
