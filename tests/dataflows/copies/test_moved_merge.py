"""The state of a merge goes from a chain to a directory and back, and its figures go on."""

from pathlib import Path

import pytest

from fugu.dataflows.copies.last_change import LastChange
from fugu.dataflows.copies.merge_table import MergeTable
from fugu.dataflows.flows.merger import Merger
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.policies import Changes, PoliciesPlan
from fugu.dataflows.flows.stopped_beside import BesideShards, MergeOnDisk, stopped_beside
from fugu.dataflows.flows.written_state import StoppedMerge, StoppedReader
from fugu.dataflows.stages.log_entries import PolicyChange
from fugu.dataflows.stages.merging import MergeState
from fugu.dataflows.state.changelog import Chain
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.exchange import Exchange
from tests.dataflows.copies.test_merge_table import (
    PARTITIONS,
    figures,
    fresh,
    merge,
    on_disk,
    progress,
    read,
    told,
)
from tests.dataflows.state.fingerprints import FINGERPRINT

BEGIN = dict.fromkeys(["0"], 0)
ONE = FINGERPRINT.model_copy(
    update={"shard": 0, "shards": 1, "partitions": 1, "source_begin": BEGIN, "sink_begin": BEGIN}
)
READS = {"fingerprint": ONE, "positions": {0: 40}}


def exchanged(root: Path, name: str, stopped: StoppedMerge | StoppedReader) -> StateDirectory:
    """Write a directory, and put it in its place."""
    exchange, directory = Exchange(root), StateDirectory(root / name)
    stopped.write(exchange, directory)
    exchange.decide([], [directory.path], "fugu state move")
    exchange.finish()
    return directory


def through_a_directory(root: Path, state: MergeState) -> MergeState:
    """Return what a directory gives back that a state was written to."""
    stopped = StoppedMerge(
        **READS,  # type: ignore[arg-type]
        ends={"sink": {0: 7}},
        source_step=MergingPlan.steps[0],
        stage_step=MergingPlan.merge_step,
        suffix=MergingPlan.suffix,
        state=state,
        kept=MergingPlan.kept,
    )
    with stopped_beside(exchanged(root, "merge", stopped), MergeOnDisk) as found:
        assert (found.position, found.published_to) == (40, 7)
        return found.state(merge())


@pytest.mark.parametrize("entries", [0, 40, 101])
def test_a_merge_that_is_moved_twice_goes_on_with_the_figures_of_one_run(
    tmp_path: Path, entries: int
) -> None:
    log, table, chain = told(), fresh(), Chain(PARTITIONS)
    released = figures(table.merger(log[:entries]))
    state = read(chain.append(table, progress(entries))).table.state
    state = through_a_directory(tmp_path, state)
    moved = MergeTable(merge(), lambda state: Merger(merge(), "log", state), state)
    back = read(Chain(PARTITIONS).append(moved, progress(entries))).table
    released += figures(back.merger(log[entries:]))
    assert released == on_disk(tmp_path, log)


def test_a_reader_of_policies_keeps_how_far_it_is_and_nothing_else(tmp_path: Path) -> None:
    stopped = StoppedReader(
        **READS,  # type: ignore[arg-type]
        ends={"log": {0: 3}, "dead_letter_sink": {0: 0}},
        source_step=PoliciesPlan.steps[0],
        suffix=PoliciesPlan.suffix,
    )
    with stopped_beside(exchanged(tmp_path, "policies", stopped), BesideShards) as found:
        assert found.position == 40
    table = LastChange()
    table.apply(table.take_everything())
    assert len(table) == 0


def test_every_change_names_the_one_before_wherever_batches_and_copies_end() -> None:
    changes = [PolicyChange(b"{}", offset) for offset in (2, 5, 6)]
    table = LastChange()
    first = table.chained(Changes(0, changes=changes[:2]))
    heir = LastChange()
    heir.apply(table.take_changes())
    told = [*first.changes, *heir.chained(Changes(0, changes=changes[2:])).changes]
    assert [one.after for one in told] == [0, 3, 6]
