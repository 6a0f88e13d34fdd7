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
from fugu.operators.mechanism import State

BLOCKS = 40


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


def read(log: list[Entry]) -> ChainReader[RowTable]:
    reader = ChainReader("state", 0, fresh)
    for key, value in log:
        reader.take(key, value)
    return reader


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
    "one is deleted": (lambda log: [*log, (log[-3][0], None)], "was deleted"),
    "two are swapped": (swap, "is damaged|follows another|of another operator"),
    "one came twice": (lambda log: [*log, log[-1]], "out of its order"),
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
    reader = ChainReader("state", 1, fresh)
    for key, value in written(fresh(), Chain(0), 2):
        reader.take(key, value)
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


def test_a_block_says_that_its_partition_was_given_up_and_otherwise_nothing_of_it() -> None:
    """So that blocks of streams, which never say it, stay as they were."""
    table, chain = fresh(), Chain(0)
    log = [*chain.append(table, progress(0))]
    assert b"left" not in (log[0][1] or b"")
    log += chain.append(table, progress(1).model_copy(update={"left": True}))
    header = read(log).header
    assert header is not None
    assert header.left
