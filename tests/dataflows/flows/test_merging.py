"""A merge under policies whose time zone database changes between two starts."""

from dataclasses import replace
from logging import INFO
from pathlib import Path

import numpy as np
import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.flows.merging import MergeStep
from fugu.dataflows.policies.changes import Clocks
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.stages.log_entries import PartialSums
from fugu.dataflows.stages.merging import Merging
from fugu.operators.randomness import DrawScope, Secret
from fugu.operators.swellfish.interval_strategies import UnicornPS
from fugu.operators.swellfish.policy import Policy
from tests.dataflows.policies.documents import EXAMPLE

DOCUMENT = PolicyDocument.read(EXAMPLE)
CLOCKS = Clocks.of(DOCUMENT)
[ZONE] = CLOCKS.transitions
PER_DAY = 144
AUTUMN = next(second for second, _ in CLOCKS.transitions[ZONE] if second > 1_790_000_000) // 600
"""The tick in which clocks are put back in the autumn of 2026."""


def step(directory: Path, snapshot: bytes | None, clocks: Clocks = CLOCKS) -> MergeStep:
    strategy = UnicornPS(DOCUMENT.policies, bins=1, epsilon=2.0)
    scope = DrawScope(Secret(bytes(32)), "power", strategy.kind, 1, strategy.law_digest())
    merge = Merging(strategy, scope, "topic-id", partitions=1, groups=1)
    return MergeStep(merge, "log", directory, snapshot, clocks=clocks)


def released_until(directory: Path, tick: int) -> bytes:
    """Return the snapshot of a merge that released one tick."""
    merge, nothing = step(directory, None), np.zeros(0, dtype=np.int64)
    merge.on_batch([[(0, PartialSums(0, tick, nothing, nothing))]])
    return merge.snapshot()


def without_summer_time_from(tick: int) -> Clocks:
    kept = [one for one in CLOCKS.transitions[ZONE] if one[0] < tick * 600]
    return replace(CLOCKS, transitions={ZONE: kept})


def with_a_clock_change_at(tick: int) -> Clocks:
    kept = without_summer_time_from(tick).transitions[ZONE]
    return replace(CLOCKS, transitions={ZONE: [*kept, (tick * 600, kept[-1][1] + 1800)]})


def test_state_goes_on_where_clocks_change_otherwise_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(INFO)
    snapshot = released_until(tmp_path, AUTUMN - 3 * PER_DAY)
    again = step(tmp_path, snapshot, without_summer_time_from(AUTUMN))
    assert "other clock changes for Europe/Berlin from 2026-10-25" in caplog.text
    caplog.clear()
    step(tmp_path, again.snapshot(), without_summer_time_from(AUTUMN))
    assert not caplog.text, "it is the database of the last start"


def test_state_is_refused_where_settled_ticks_would_mean_another_time(tmp_path: Path) -> None:
    snapshot = released_until(tmp_path, AUTUMN - PER_DAY // 2)
    with pytest.raises(StartRefused, match="Install the version of tzdata"):
        step(tmp_path, snapshot, without_summer_time_from(AUTUMN))
    step(tmp_path, snapshot)


def test_interval_that_is_open_counts_to_its_end(tmp_path: Path) -> None:
    """Cars are charged over night, for ten hours: their interval ends within the last day."""
    begin, end = next(
        (one.start, one.end)
        for tick in range(AUTUMN - 6 * PER_DAY, AUTUMN)
        for one in DOCUMENT.policies.relevance(tick, b"").intervals
        if one.end - one.start == 10 * 6 - 1
    )
    snapshot = released_until(tmp_path, begin)
    step(tmp_path, snapshot, with_a_clock_change_at(end + 1 + PER_DAY))
    with pytest.raises(StartRefused, match="intervals that are open"):
        step(tmp_path, snapshot, with_a_clock_change_at(end + PER_DAY))


def test_law_of_a_document_does_not_depend_on_the_database() -> None:
    collections = tuple(
        replace(one, policies=tuple(map(in_winter, one.policies)))
        for one in DOCUMENT.policies.collections
    )
    moved = replace(DOCUMENT.policies, collections=collections)
    laws = [UnicornPS(one, bins=1, epsilon=2.0).law_digest() for one in (DOCUMENT.policies, moved)]
    assert laws[0] == laws[1]


def in_winter(policy: Policy) -> Policy:
    zone = replace(policy.when.zone, transitions=((0, 3600),))
    return replace(policy, when=replace(policy.when, zone=zone))
