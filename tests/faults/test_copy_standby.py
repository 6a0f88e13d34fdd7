"""A copy that follows the tables of others reads the rest alone when it takes them over."""

import time
from collections.abc import Callable

import pytest

from fugu.dataflows.copies import takeover
from fugu.dataflows.copies.copy import Copy
from fugu.dataflows.kafka.client import Bounds
from tests.faults.copies import House, step, take_in
from tests.kafka.pipelines import PATIENCE_SECONDS

Reads = list[tuple[int, Bounds]]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """Partitions of the state that were read at a takeover, and from where to where."""
    found: Reads = []
    read_to = takeover._read_to

    def noted(reader: object, partition: int, bounds: Bounds, *rest: object) -> None:
        found.append((partition, bounds))
        read_to(reader, partition, bounds, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(takeover, "_read_to", noted)
    return found


def follow(spare: Copy, owner: Copy, partition: int) -> None:
    """Step a copy until it has followed everything that the owner has committed."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    followed = spare._takeover._followed
    while followed._next.get(partition, 0) < owner.owned[partition].end - 1:
        assert time.monotonic() < deadline, "the spare copy does not follow"
        step(spare)


def spent_all(house: House, owner: Copy) -> None:
    """Two blocks, of which one is behind another one."""
    for _ in range(2):
        take_in(owner, house.feed())
        owner.cut()


def followed_by(house: House, owner: Copy) -> Copy:
    """Return a copy that owns nothing and keeps up with two blocks of the owner."""
    spent_all(house, owner)
    spare = house.copies.join("spare")
    spare._takeover.standby = "all"
    house.copies.settle(1, 0)
    follow(spare, owner, 0)
    return spare


def test_a_copy_with_all_tables_reads_nothing_again_and_publishes_the_same_bytes(
    make: Callable[[int], House], reads: Reads
) -> None:
    house = make(1)
    first = house.first()
    spare = followed_by(house, first)
    spent_all(house, first)
    follow(spare, first, 0)
    take_in(first, house.feed())
    first._writer.acknowledge()
    end = first.owned[0].end
    first.close()
    house.copies.running.remove(first)
    house.copies.settle(1)
    [*_, (_, bounds)] = reads
    assert bounds.start >= end - 1
    take_in(spare, house.fed)
    spare.cut()
    house.require_one_outcome_each()


def test_a_copy_follows_what_it_gave_up_where_kept_says_so(
    make: Callable[[int], House], reads: Reads
) -> None:
    house = make(2)
    first = house.first()
    first._takeover.standby = "kept"
    house.feed(partitions=(0, 1))
    for partition in (0, 1):
        take_in(first, house.fed, partition)
    first.cut()
    second = house.copies.join("second")
    house.copies.settle(1, 1)
    [given] = second.owned
    second.cut()
    follow(first, second, given)
    end = second.owned[given].end
    second.leave()
    house.copies.running.remove(second)
    house.copies.settle(2)
    [*_, (partition, bounds)] = reads
    assert (partition, bounds.start >= end - 1) == (given, True)
    assert first._takeover._followed._reader is None


def test_a_chain_in_which_something_is_wrong_is_read_from_its_start(
    make: Callable[[int], House], reads: Reads
) -> None:
    house = make(1)
    first = house.first()
    spare = followed_by(house, first)
    spare._takeover._followed._chains[0]._problem = "block 1 of generation 1 was deleted"
    first.leave()
    house.copies.running.remove(first)
    house.copies.settle(1)
    [*_, (_, bounds)] = reads
    assert bounds.start == 0
    assert spare.owned[0].position == house.fed
