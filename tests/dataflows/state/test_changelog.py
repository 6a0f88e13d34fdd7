"""A chain of blocks comes back as it was, and every lost, doubled or changed record is missed."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.kafka.client import Entry
from fugu.dataflows.state import changelog
from fugu.dataflows.state.chain_reader import ChainReader
from fugu.dataflows.state.changelog import Chain, Place, Progress
from fugu.dataflows.state.row_table import RowTable
from fugu.dataflows.state.state_topic import FINGERPRINT
from fugu.operators.mechanism import State

BLOCKS = 40
FORGED = b"of somebody else"


def start(rows: int) -> State:
    return {"spent": np.zeros(rows, dtype=np.int64), "held": np.full(rows, None, dtype=object)}


def fresh() -> RowTable:
    return RowTable(start)


def progress(position: int) -> Progress:
    ends = {"sink": {"0": position}}
    return Progress(position=position, ends=ends, published={"sink": 1}, instance="a", epoch=1)


def grow(table: RowTable, random: Random) -> None:
    rows = table.rows_of([b"user-%d" % random.randrange(300) for _ in range(5)])
    table.live("spent")[rows] += 1
    table.live("held")[rows] = random.randbytes(random.randrange(300))
    table.touch(rows)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces and generations of which a test sees many."""
    monkeypatch.setattr(changelog, "PIECE_BYTES", 2_000)
    monkeypatch.setattr(changelog, "_LEAST_GENERATION_BYTES", 12_000)


def written(table: RowTable, chain: Chain, blocks: int = BLOCKS) -> list[Entry]:
    random, log = Random(7), list[Entry]()
    for number in range(blocks):
        grow(table, random)
        log += chain.append(table, progress(number))
    return log


def read(log: list[Entry], partition: int = 0) -> ChainReader[RowTable]:
    reader = ChainReader("state", partition, fresh, as_it_is)
    for offset, (key, value) in enumerate(log):
        reader.take(offset, key, value)
    return reader


def as_it_is(partition: int, offset: int, key: bytes, value: bytes) -> bytes:
    if value == FORGED:
        raise ValueError
    return value


def compacted(log: list[Entry], random: Random) -> list[Entry]:
    """Any prefix may be compacted: of each key in it the last record stays, or nothing."""
    prefix = log[: random.randrange(len(log) + 1)]
    last = {key: place for place, (key, _) in enumerate(prefix)}
    kept = [
        (key, value)
        for place, (key, value) in enumerate(prefix)
        if last[key] == place and (value is not None or random.random() < 0.5)
    ]
    return kept + log[len(prefix) :]


@pytest.mark.usefixtures("small")
def test_a_table_comes_back_from_the_whole_log_and_from_what_compaction_leaves_of_it() -> None:
    table, chain = fresh(), Chain(0)
    log, random = written(table, chain), Random(1)
    assert chain.generation > 2
    assert any((Place.of(key) or Place(0, 0, 0, 1)).pieces > 2 for key, _ in log)
    for content in [log, *(compacted(log, random) for _ in range(12))]:
        reader = read(content)
        reader.require_whole()
        assert reader.chain == chain
        assert reader.header is not None
        assert reader.header.position == BLOCKS - 1
        assert list(reader.table.keys) == list(table.keys)
        for name in start(0):
            assert reader.table.live(name).tolist() == table.live(name).tolist()


@pytest.mark.usefixtures("small")
def test_what_counts_is_bounded_by_twice_the_rows_and_one_block() -> None:
    table, chain = fresh(), Chain(0)
    log = written(table, chain, 200)
    counting = {key: value for key, value in log if value is not None}
    for key, value in log:
        if value is None:
            del counting[key]
    live = sum(len(value) for _, value in Chain(0).append(table, progress(0)) if value)
    largest = max(len(value) for value in counting.values())
    assert sum(map(len, counting.values())) <= 2 * max(live, 12_000) + 2 * largest + 2_000


def swap(log: list[Entry]) -> list[Entry]:
    (first, one), (second, other) = log[-2:]
    return [*log[:-2], (first, other), (second, one)]


Tampering = Callable[[list[Entry]], list[Entry]]
TAMPERINGS: dict[str, tuple[Tampering, str]] = {
    "the last but one is gone": (lambda log: log[:-2] + log[-1:], "out of its order"),
    "two are swapped": (swap, "is damaged|follows another|of another operator"),
    "an earlier one came twice": (lambda log: [*log, log[-2]], "out of its order"),
    "a bit is flipped": (
        lambda log: [*log[:-1], (log[-1][0], (log[-1][1] or b"")[:-1] + b"!")],
        "damaged",
    ),
    "one is cut short": (
        lambda log: [*log[:-1], (log[-1][0], (log[-1][1] or b"")[:20])],
        "damaged",
    ),
    "the first is gone": (lambda log: log[1:], "out of its order"),
    "a piece is missing": (lambda log: [*log, (b"1/40/0/2", b"half")], "is not whole"),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_no_record_of_the_last_generation_can_be_lost_or_changed(name: str) -> None:
    tamper, said = TAMPERINGS[name]
    log = written(fresh(), Chain(0))
    read(log).require_whole()
    with pytest.raises(StartRefused, match=said):
        read(tamper(log)).require_whole()


@pytest.mark.usefixtures("small")
def test_an_older_generation_never_stands_in_for_a_newer_one_that_lost_its_table() -> None:
    log = written(fresh(), Chain(0))
    newest = max((Place.of(key) or Place(0, 0, 0, 0)).generation for key, _ in log)
    without = [one for one in log if not one[0].startswith(b"%d/0/0/" % newest)]
    with pytest.raises(StartRefused, match="lost records"):
        read(without).require_whole()


def test_a_block_of_another_partition_is_refused() -> None:
    reader = read(written(fresh(), Chain(0), 2), partition=1)
    with pytest.raises(StartRefused, match="of another partition"):
        reader.require_whole()


def test_a_block_of_another_format_is_said_to_be_another_version_s_and_not_lost() -> None:
    key, value = Chain(0).append(fresh(), progress(0))[0]
    reader = read([(key, (value or b"").replace(b'"format":1', b'"format":2'))])
    with pytest.raises(
        StartRefused, match=r"block .* has format 2: another version .* nothing is lost"
    ):
        reader.require_whole()


def test_records_of_others_are_counted_and_passed_over() -> None:
    log = written(fresh(), Chain(0), 3)
    reader = read([log[0], (b"something", b"else"), *log[1:]])
    reader.require_whole()
    assert reader.others == 1
    assert not reader.is_harmed


@pytest.mark.usefixtures("small")
def test_keys_that_others_have_used_are_noticed_until_all_that_counts_is_behind_them() -> None:
    table, chain, random = fresh(), Chain(0), Random(3)
    log = written(table, chain, 2)
    for foreign in [(log[0][0], None), (log[0][0], FORGED), (FINGERPRINT, None)]:
        harmed = [(FINGERPRINT, b"own"), *log, foreign]
        reader = read(harmed)
        reader.require_whole()
        assert (reader.others, reader.is_harmed) == (1, True)
        assert reader.fingerprint == b"own"
        later = Chain(**vars(reader.chain))
        later.renew()
        grow(reader.table, random)
        again = [(FINGERPRINT, b"own"), *later.append(reader.table, progress(2))]
        after = read([*harmed, *again])
        after.require_whole()
        assert not after.is_harmed
        assert len(after.table) == len(reader.table)


@pytest.mark.usefixtures("small")
def test_a_block_that_was_written_once_more_behind_records_of_others_counts_once() -> None:
    table, chain, random = fresh(), Chain(0), Random(3)
    for _ in range(30):
        grow(table, random)
    log = written(table, chain, 1)
    assert len(log) > 1
    block = [*chain.append(table, progress(1))]
    for first in (log[:1], log):
        reader = read([*first, (b"something", b"else"), *log, *block])
        reader.require_whole()
        assert len(reader.table) == len(table)
        assert reader.header is not None
        assert reader.header.position == 1


def test_a_second_owner_that_wrote_a_block_of_the_same_number_is_found() -> None:
    """Each of them spends budgets that the other does not know of."""
    table, chain = fresh(), Chain(0)
    log = [*chain.append(table, progress(0)), *chain.append(table, progress(1))]
    (key, value), second = log[-1], Chain(0)
    second.append(fresh(), progress(0))
    [(same, differs)] = second.append(fresh(), progress(2))
    assert (same, value != differs) == (key, True)
    read([*log, (key, value)]).require_whole()
    with pytest.raises(StartRefused, match="with other content"):
        read([*log, (key, differs)]).require_whole()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("number", [0, 1])
def test_a_block_that_was_written_once_more_counts_wherever_compaction_has_come_to(
    number: int,
) -> None:
    """Pieces of its first copy stay behind those that are removed."""
    table, chain, random = fresh(), Chain(0), Random(3)
    log = [*chain.append(table, progress(0))] if number else []
    for _ in range(30):
        grow(table, random)
    block = chain.append(table, progress(1))
    assert len(block) > 2
    twice = [*log, *block, (b"something", b"else"), *block]
    for end in range(len(twice)):
        last = {key: place for place, (key, _) in enumerate(twice[:end])}
        kept = [one for place, one in enumerate(twice[:end]) if last[one[0]] == place]
        reader = read([*kept, *twice[end:]])
        reader.require_whole()
        assert len(reader.table) == len(table)
        torn = read([*kept, *twice[end : len(log) + len(block) + 1]])
        if len(kept) < end:
            with pytest.raises(StartRefused, match="is not whole"):
                torn.require_whole()


def test_a_block_says_that_its_partition_was_given_up_and_otherwise_nothing_of_it() -> None:
    """So that blocks of streams, which never say it, stay as they were."""
    table, chain = fresh(), Chain(0)
    log = [*chain.append(table, progress(0))]
    assert b"left" not in (log[0][1] or b"")
    log += chain.append(table, progress(1).model_copy(update={"left": True}))
    header = read(log).header
    assert header is not None
    assert header.left
