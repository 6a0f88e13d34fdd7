"""Whatever happens to a state topic or to the group, a start refuses it, each in its own words."""

from collections.abc import Sequence
from contextlib import closing

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from fugu.dataflows.base.errors import KafkaUnavailable, StartRefused
from fugu.dataflows.copies.planning import looked_at_copy
from fugu.dataflows.copies.takeover import Takeover
from fugu.dataflows.kafka.client import GroupMember
from fugu.dataflows.kafka.group_metadata import GroupMetadata
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.state.state_topic import FINGERPRINT
from tests.faults.copies import FEW, House, take_in
from tests.kafka.pipelines import SECRET, SECRET_VARIABLE
from tests.kafka.records import Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory

PARTITIONS = 7


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


@pytest.fixture(scope="module")
def house(bootstrap: str, topics: TopicFactory, tmp_path_factory: pytest.TempPathFactory) -> House:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(SECRET_VARIABLE, SECRET)
        house = House(bootstrap, topics, tmp_path_factory.mktemp("house"), PARTITIONS)
        copy = house.first()
        for _ in range(3):
            end = house.feed(partitions=range(PARTITIONS))
            for partition in range(PARTITIONS):
                take_in(copy, end, partition)
            copy.cut()
        copy.close()
    return house


def start(house: House, partition: int, member: GroupMember | None = None) -> int:
    """Take a partition over; the position."""
    made = house.copies.planned
    takeover = Takeover(made.plan, made.client, made.state, "next", 10_000)
    [owned] = takeover.owned([partition], member or Stands(3 * FEW))
    return owned.position


def blocks(house: House, partition: int) -> list[Record]:
    return [r for r in read_topic(house.bootstrap, house.state)[partition] if r.key != FINGERPRINT]


def write(house: House, partition: int, key: bytes | None, value: bytes | None) -> None:
    produce(house.bootstrap, house.state, [Placed(partition, Record(key, value))])


def test_a_state_that_nobody_touched_goes_on(house: House) -> None:
    assert start(house, 0) == 3 * FEW


def test_offsets_that_kafka_has_forgotten_do_not_matter(house: House) -> None:
    assert start(house, 0, Stands(None)) == 3 * FEW


@pytest.mark.parametrize("offset", [0, FEW, 3 * FEW + 1])
def test_a_group_that_was_reset_is_refused(house: House, offset: int) -> None:
    with pytest.raises(StartRefused, match="position_mismatch"):
        start(house, 0, Stands(offset))


def test_a_deleted_block_is_missed(house: House) -> None:
    write(house, 1, blocks(house, 1)[1].key, None)
    with pytest.raises(StartRefused, match="was deleted"):
        start(house, 1)


def test_a_block_in_the_place_of_another_is_refused(house: House) -> None:
    first, second, *_ = blocks(house, 2)
    write(house, 2, second.key, first.value)
    with pytest.raises(StartRefused, match="out of its order"):
        start(house, 2)


def test_a_block_behind_the_last_one_is_refused_even_where_it_fits(house: House) -> None:
    """Its numbers are right, and the digest of the block before is not."""
    *_, last = blocks(house, 3)
    assert last.key is not None
    generation, number, *_ = last.key.split(b"/")
    write(house, 3, b"%s/%d/0/1" % (generation, int(number) + 1), last.value)
    with pytest.raises(StartRefused, match="follows another block"):
        start(house, 3)


def test_a_state_that_does_not_say_what_it_belongs_to_is_refused(house: House) -> None:
    write(house, 4, FINGERPRINT, None)
    with pytest.raises(StartRefused, match="what the state belongs to was removed"):
        start(house, 4)


def test_a_partition_that_was_read_and_has_no_state_is_refused(house: House) -> None:
    """Only the record that says whose it is was left."""
    for block in blocks(house, 5):
        write(house, 5, block.key, None)
    with pytest.raises(StartRefused, match="lost records"):
        start(house, 5)


def test_a_state_of_another_topic_is_refused(house: House) -> None:
    [written] = [r for r in read_topic(house.bootstrap, house.state)[6] if r.key == FINGERPRINT]
    topic = house.copies.planned.state.topic.identity.encode()
    write(house, 6, FINGERPRINT, (written.value or b"").replace(topic, b"another-topic"))
    with pytest.raises(StartRefused, match="deleted and created again, or copied"):
        start(house, 6)


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
