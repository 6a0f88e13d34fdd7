"""Anybody changes policies at any time, and processes are killed: what was promised is kept."""

from collections import Counter
from collections.abc import Iterable
from itertools import count
from pathlib import Path

import pytest
from _pytest.outcomes import Failed

from fugu.operators.swellfish.history import Unexplained
from tests.privacy.policies.course import Course
from tests.privacy.policies.faults import FAULTS

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
@pytest.mark.parametrize("seed", range(RUNS))
def test_whoever_changes_what_nothing_is_lost_that_was_promised(seed: int, tmp_path: Path) -> None:
    Course(seed, tmp_path).run()


@pytest.mark.acceptance
def test_ten_thousand_changes_by_everybody(tmp_path: Path) -> None:
    seen, judged, seeds = Counter[str](), Counter[str](), count(RUNS)
    while seen.total() - seen["restart"] < 10_000:
        course = Course(next(seeds), tmp_path)
        course.run()
        seen, judged = seen + course.seen, judged + course.judge.seen
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
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(
    fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    FAULTS[fault](monkeypatch)
    with pytest.raises((AssertionError, Failed, Unexplained)):
        run_all(range(2 * RUNS), tmp_path)
