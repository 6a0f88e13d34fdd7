"""A merge that is killed between cuts goes on from its chain, with the figures of one on disk."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.copies.merge_table import MergeTable, _block
from fugu.dataflows.flows.merger import Merged, Merger
from fugu.dataflows.flows.merging import MergeStep
from fugu.dataflows.kafka.client import Entry
from fugu.dataflows.stages.log_entries import PartialSums
from fugu.dataflows.stages.merging import Merging, OpenTicks
from fugu.dataflows.state import changelog
from fugu.dataflows.state.chain_reader import ChainReader
from fugu.dataflows.state.changelog import Chain, Progress
from fugu.operators.randomness import DrawScope, Secret
from fugu.operators.wevent.spread_strategies import BudgetAbsorption

GROUPS, PARTITIONS, TICKS = 5, 3, 60
Log = list[tuple[int, PartialSums]]
Figures = list[tuple[int, list[float]]]


def merge() -> Merging:
    mechanism = BudgetAbsorption(bins=GROUPS, window=6, epsilon=1.0, sensitivity=1)
    scope = DrawScope(Secret(bytes(32)), "city", mechanism.kind, 1, mechanism.law_digest())
    return Merging(mechanism, scope, "topic-id", PARTITIONS, GROUPS)


def fresh() -> MergeTable:
    merging = merge()
    return MergeTable(merging, lambda state: Merger(merging, "log", state))


def told() -> Log:
    """Return what partitions told, each in order; one may be far behind the others."""
    random, following, log = Random(3), [0] * PARTITIONS, Log()
    while open_ones := [part for part in range(PARTITIONS) if following[part] < TICKS]:
        part = random.choice(open_ones)
        for tick in range(following[part], min(TICKS, following[part] + random.randrange(1, 6))):
            some = np.array(sorted(random.sample(range(GROUPS), random.randrange(GROUPS))), "i8")
            log.append((len(log), PartialSums(part, tick, some, 20 * some + tick)))
            following[part] = tick + 1
    return log


def figures(merged: Merged) -> Figures:
    return [(tick, releases.values[0].tolist()) for tick, releases in merged.ticks]


def on_disk(directory: Path, log: Log) -> Figures:
    [merged], _ = MergeStep(merge(), "log", directory, None).on_batch([[*log]])
    return figures(merged)


def progress(position: int) -> Progress:
    return Progress(position=position, ends={}, published={}, instance="a/merge", epoch=1)


def read(log: list[Entry]) -> ChainReader[MergeTable]:
    reader = ChainReader("state", PARTITIONS, fresh, lambda _, offset, key, value: value)
    for offset, (key, value) in enumerate(log):
        reader.take(offset, key, value)
    reader.require_whole()
    return reader


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces and generations of which a test sees many."""
    monkeypatch.setattr(changelog, "PIECE_BYTES", 400)
    monkeypatch.setattr(changelog, "_LEAST_GENERATION_BYTES", 4_000)


def killed_now_and_then(seed: int) -> Figures:
    """Return what counts of a merge that is killed between cuts, and reads its chain back."""
    random, log = Random(seed), told()
    chain, table = Chain(PARTITIONS), fresh()
    position, kills = 0, 0
    committed, state = Figures(), list[Entry]()
    while position < len(log):
        made, behind = Figures(), position
        for _ in range(random.randrange(1, 4)):
            batch = log[behind : behind + random.randrange(1, 6)]
            made += figures(table.merger(batch))
            behind += len(batch)
        if random.random() < 0.4:  # what was made since the last cut is aborted
            kills += 1
            reader = read(state)
            chain, table = reader.chain, reader.table
            assert position == (reader.header.position if reader.header else 0)
            continue
        state += chain.append(table, progress(behind))
        committed, position = committed + made, behind
    assert kills > 5
    assert chain.generation > 2
    return committed


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(4))
def test_kills_at_random_points_leave_the_figures_of_the_disk_store(
    tmp_path: Path, seed: int
) -> None:
    committed = killed_now_and_then(seed)
    assert committed == on_disk(tmp_path, told())
    assert [tick for tick, _ in committed] == list(range(TICKS))


def sums_forgotten(table: MergeTable) -> bytes:
    """Only the state is written, not what waits for other partitions."""
    return _block(table.merger.state, OpenTicks().take_changes())


def state_forgotten(table: MergeTable) -> bytes:
    """Sums are written, and the state of the beginning, whose budget is whole."""
    return _block(merge().start(), table.merger.state.open.take_changes())


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("mistake", [sums_forgotten, state_forgotten])
def test_a_block_that_leaves_something_out_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: Callable[[MergeTable], bytes]
) -> None:
    monkeypatch.setattr(MergeTable, "take_changes", mistake)
    assert killed_now_and_then(seed=0) != on_disk(tmp_path, told())


@pytest.mark.usefixtures("small")
def test_sums_that_wait_are_written_once_however_long(tmp_path: Path) -> None:
    chain, table, state = Chain(PARTITIONS), fresh(), list[Entry]()
    waiting = [one for one in told() if one[1].partition != 0]
    sizes = []
    for number, one in enumerate(waiting):
        table.merger([one])
        written = chain.append(table, progress(number))
        state += written
        if chain.number:
            sizes.append(sum(len(value or b"") for _, value in written))
    assert max(sizes) < 1_600
    late = [one for one in told() if one[1].partition == 0]
    released = figures(read(state).table.merger(late))
    assert released == on_disk(tmp_path, told())


def test_a_damaged_state_of_a_merge_is_refused() -> None:
    chain, table = Chain(PARTITIONS), fresh()
    table.merger(told()[:20])
    [(key, value)] = chain.append(table, progress(1))
    assert value is not None
    body = len(value) - len(table.take_everything())
    for place in (body + 40, len(value) - 10):
        changed = bytearray(value)
        changed[place] ^= 1
        with pytest.raises(StartRefused, match="damaged"):
            read([(key, bytes(changed))])
