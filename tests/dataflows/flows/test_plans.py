"""Plans go through the internal log: whoever reads it again releases the same, and asks nobody."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random

import numpy as np
import pytest

from fugu.dataflows.flows.merging import MergeStep
from fugu.dataflows.stages.log_entries import (
    Entry,
    MechanismPlan,
    PartialSums,
    PolicyChange,
    read_entry,
)
from fugu.dataflows.stages.merging import Merging
from fugu.operators.mechanism import Releases
from fugu.operators.randomness import DrawScope, Secret
from fugu.operators.swellfish import planning
from fugu.operators.swellfish.calendar import Once, Zone
from fugu.operators.swellfish.changes import Change
from fugu.operators.swellfish.household import HOUSEHOLD
from fugu.operators.swellfish.ledger import Ledgers
from fugu.operators.swellfish.planning import Plan, Stretches, UnicornPlan, planned_charges
from fugu.operators.swellfish.policy import Policy

TICKS = 30
Digest = dict[int, tuple[bytes, ...]]


@dataclass
class Life:
    """Run a merge over a log, which its plans are written to."""

    log: list[bytes]
    directory: Path
    snapshot: bytes | None = None
    read: int = 0
    released: Digest = field(default_factory=dict)

    def __post_init__(self) -> None:
        mechanism = UnicornPlan(HOUSEHOLD, 1, 1.0)
        scope = DrawScope(Secret(bytes(32)), "home", mechanism.kind, 1, mechanism.law_digest())
        merge = Merging(mechanism, scope, "topic-id", partitions=1, groups=1)
        self.step = MergeStep(merge, "log", self.directory, self.snapshot)

    def advance(self, entries: int) -> None:
        """Read so many entries in a batch; what it plans comes behind all that is written."""
        end = min(self.read + entries, len(self.log))
        batch = [(at, read_entry(self.log[at], "log")) for at in range(self.read, end)]
        [merged], _ = self.step.on_batch([batch])
        self.read = end
        for tick, releases in merged.ticks:
            self.released[tick] = digest(releases)
        if merged.plan is not None:
            self.plan(merged.plan)

    def plan(self, plan: MechanismPlan) -> None:
        self.log.append(plan.encoded())

    def stored(self) -> bytes:
        return self.step.snapshot()


def digest(releases: Releases) -> tuple[bytes, ...]:
    return (releases.values.tobytes(), *(note.tobytes() for note in releases.annotations.values()))


def figures(tick: int) -> bytes:
    return PartialSums(0, tick, np.arange(1), np.array([500 + tick])).encoded()


def entries(log: Sequence[bytes]) -> list[Entry]:
    return [read_entry(one, "log") for one in log]


def another_machine(ratio: float) -> Callable[[Stretches, Ledgers, int], list[int]]:
    """Return a solver whose last digits are others."""

    def solve(stretches: Stretches, ledgers: Ledgers, cap: int) -> list[int]:
        return [int(charge * ratio) for charge in planned_charges(stretches, ledgers, cap)]

    return solve


def lived(seed: int, directory: Path, patch: pytest.MonkeyPatch, of: type[Life]) -> list[bytes]:
    """Return the log of lives that end at any entry and go on from a snapshot of before, with
    another solver; whatever is released twice, also by a late reader, must be the same."""
    random, log, published = Random(seed), list[bytes](), Digest()
    snapshots: list[tuple[bytes | None, int]] = [(None, 0)]
    life = of(log, directory)
    for tick in range(TICKS):
        log.append(figures(tick))
        if tick == 3:
            gone = Change("home", effective=0, removes="vacuum", adds=None)
            log.append(PolicyChange(gone.to_bytes(), 0).encoded())
        life.advance(random.randrange(1, 4))
        if random.random() < 0.3:
            snapshots.append((life.stored(), life.read))
        if random.random() < 0.2:
            published |= life.released
            ratio = 1 - random.random() / 1000
            patch.setattr(planning, "planned_charges", another_machine(ratio))
            snapshots = snapshots[: max(1, len(snapshots) - random.randrange(2))]
            life = of(log, directory, *snapshots[-1])
        for at in published.keys() & life.released.keys():
            assert life.released[at] == published[at]
    while life.read < len(log):
        life.advance(3)
    published |= life.released
    patch.setattr(planning, "planned_charges", nobody)
    reader = Life(log, directory / "reader")
    reader.advance(len(log))
    assert reader.released == published
    assert len(published) == TICKS
    return log


@pytest.mark.parametrize("seed", range(5))
def test_whoever_reads_the_log_again_releases_the_same_on_any_machine(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = lived(seed, tmp_path, monkeypatch, Life)
    assert any(isinstance(one, MechanismPlan) for one in entries(log))


class Forgetful(Life):
    """Believe a plan before it stands in the log."""

    def plan(self, plan: MechanismPlan) -> None:
        self.step.on_batch([[(0, plan)]])
        super().plan(plan)


def test_a_plan_that_counts_before_it_stands_in_the_log_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AssertionError):
        lived(1, tmp_path, monkeypatch, Forgetful)


def nobody(stretches: Stretches, ledgers: Ledgers, cap: int) -> list[int]:
    return [0] * len(stretches)


def test_a_plan_is_told_from_where_it_stands_in_the_log(tmp_path: Path) -> None:
    log = [figures(tick) for tick in range(3)]
    life = Life(log, tmp_path)
    life.advance(1)
    assert isinstance(entries(log)[-1], MechanismPlan)
    log += [figures(tick) for tick in range(3, 8)]
    while life.read < len(log):
        life.advance(1)
    told = [isinstance(one, MechanismPlan) for one in entries(log)]
    assert told == [False] * 3 + [True] + [False] * 5, "one plan is enough"


def test_policies_that_change_all_the_time_make_fewer_and_fewer_plans(tmp_path: Path) -> None:
    """For ticks 1, 11 and 31, and then for 71."""
    log: list[bytes] = []
    life = Life(log, tmp_path)
    later = Once(Zone("UTC", ((0, 0),)), datetime(1970, 1, 20), datetime(1970, 1, 21))
    for tick in range(70):
        added = Policy(f"guest {tick}", later, 1, (1,))
        change = Change("home", effective=0, removes=None, adds=added)
        log.append(PolicyChange(change.to_bytes()).encoded())
        log.append(figures(tick))
        while life.read < len(log):
            life.advance(1)
    plans = [one for one in entries(log) if isinstance(one, MechanismPlan)]
    firsts = [Plan.decoded(one.content).first for one in plans]
    assert firsts == [1, 11, 31]
