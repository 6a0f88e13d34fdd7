"""Anybody changes policies at any time, and processes are killed: what was promised is kept."""

from collections import Counter
from collections.abc import Iterable
from itertools import count
from pathlib import Path

import pytest
from _pytest.outcomes import Failed

from fugu.operators.swellfish import planning
from fugu.operators.swellfish.ledger import Ledgers
from fugu.operators.swellfish.planning import Stretches
from fugu.operators.swellfish.timeline import Unexplained
from tests.privacy.policies import course
from tests.privacy.policies.course import Course
from tests.privacy.policies.faults import FAULTS
from tests.thinned import first_in_test

RUNS = 24
EVERYBODY = {
    "by anybody, admitted",
    "by anybody, refused",
    "by the owner of another one, admitted",
    "by the owner of another one, refused",
    "by the owner, admitted",
    "by the owner, refused",
    "costly",
    "forged",
    "left out, found",
    "made",
    "malformed",
    "moved",
    "not signed",
    "repeated, refused",
    "restart",
    "tombstone, admitted",
    "tombstone, refused",
    "unsigned again, admitted",
    "unsigned again, refused",
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", first_in_test(reversed(range(RUNS)), 3))
def test_whoever_changes_what_nothing_is_lost_that_was_promised(seed: int, tmp_path: Path) -> None:
    Course(seed, tmp_path).run()


@pytest.mark.acceptance
def test_plans_that_want_everything_at_once_break_no_promise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def everything(stretches: Stretches, ledgers: Ledgers, cap: int) -> list[int]:
        return [2 * cap] * len(stretches)

    monkeypatch.setattr(planning, "planned_charges", everything)
    monkeypatch.setattr(course, "KINDS", ["unicorn_plan"])
    for seed in range(4):
        Course(seed, tmp_path).run()


@pytest.mark.acceptance
def test_ten_thousand_changes_by_everybody(tmp_path: Path) -> None:
    seen, judged, seeds = Counter[str](), Counter[str](), count(RUNS)
    while seen.total() - seen["restart"] < 10_000:
        one = Course(next(seeds), tmp_path)
        one.run()
        seen, judged = seen + one.seen, judged + one.judge.seen
    print(f"\n{dict(sorted(seen.items()))}\n{dict(sorted(judged.items()))}")
    assert seen.keys() >= EVERYBODY
    assert seen["unclear"] < 0.01 * seen.total()
    assert judged["nearly used up"] > 0.3 * judged["intervals"]
    assert judged["intervals of people who move"] > 100
    assert judged["hidden"] > 1_000 < judged["exact"]


def run_all(seeds: Iterable[int], directory: Path) -> None:
    for seed in seeds:
        Course(seed, directory).run()


@pytest.mark.slow
@pytest.mark.parametrize("fault", first_in_test(FAULTS, 4))
def test_a_planted_fault_is_found(
    fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    FAULTS[fault](monkeypatch)
    with pytest.raises((AssertionError, Failed, Unexplained)):
        run_all(range(2 * RUNS), tmp_path)
