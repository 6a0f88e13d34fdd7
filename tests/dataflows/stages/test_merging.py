"""Write what the merge waits with once, however long it waits."""

from pathlib import Path

import numpy as np

from fugu.dataflows.flows.merging import MergeStep
from fugu.dataflows.offline.evaluation.aggregates.figures import Exact
from fugu.dataflows.stages.log_entries import PartialSums
from fugu.dataflows.stages.merging import Merging
from fugu.operators.randomness import DrawScope, Secret

GROUPS = 10_000


def merging(directory: Path, snapshot: bytes | None) -> MergeStep:
    scope = DrawScope(Secret(bytes(32)), "city", "exact", 1, bytes(32))
    merge = Merging(Exact(), scope, "topic-id", partitions=2, groups=GROUPS)
    return MergeStep(merge, "log", directory, snapshot)


def figures(tick: int) -> PartialSums:
    return PartialSums(0, tick, np.arange(GROUPS), np.arange(GROUPS) + tick)


def written(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.iterdir())


def test_a_silent_partition_makes_no_snapshot_grow(tmp_path: Path) -> None:
    """After 500 ticks of 10,000 groups every snapshot had 40 MB."""
    step = merging(tmp_path, None)
    sizes, logged = [], []
    for tick in range(60):
        step.on_batch([[(tick, figures(tick))]])
        sizes.append(len(step.snapshot()))
        logged.append(written(tmp_path))
    assert max(sizes) < 1_000
    each = len(figures(1).encoded())
    added = np.diff(logged)
    assert np.median(added) < 1.1 * each
    assert sum(size for size in added if size > 0) < 4 * 60 * each, "whole logs now and then"


def test_a_merge_goes_on_from_any_of_the_last_snapshots(tmp_path: Path) -> None:
    step, snapshots = merging(tmp_path, None), []
    for tick in range(30):
        step.on_batch([[(tick, figures(tick))]])
        snapshots.append(step.snapshot())
    for back in (1, 2, 3):
        again = merging(tmp_path, snapshots[-back])
        entries = [figures(tick) for tick in range(31 - back, 30)]
        nothing = np.zeros(0, dtype=np.int64)
        closing = [PartialSums(1, tick, nothing, nothing) for tick in range(30)]
        [released], _ = again.on_batch([[*enumerate([*entries, *closing])]])
        assert [tick for tick, _ in released.ticks] == list(range(30))
        for tick, releases in released.ticks:
            assert releases.values[0].tolist() == list(range(tick, tick + GROUPS))
        after = merging(tmp_path, again.snapshot())
        assert len(after.snapshot()) < 1_000
