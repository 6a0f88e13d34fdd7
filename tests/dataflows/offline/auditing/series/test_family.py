"""Audits of series of numbers: what they prove, and that they never prove too much."""

from pathlib import Path
from typing import Any

import pytest

from fugu.dataflows.offline.auditing.attacks import Effort, carried_out
from fugu.dataflows.offline.auditing.audited import Audited
from fugu.dataflows.offline.auditing.gaussian_loss import nats_at
from fugu.dataflows.offline.auditing.series import checks
from fugu.dataflows.offline.auditing.series.family import audited_series
from fugu.dataflows.offline.auditing.series.worlds import SeriesWorld
from tests.dataflows.kinds.example_files import example_of
from tests.thinned import first_in_test

SHARED: list[dict[str, Any]] = [
    {"horizon": 5},
    {"horizon": 6, "shares": [1, 3], "filter": "baseline"},
    {"period": 4, "filter": {"weight": 0.5}},
    {"decay": 0.5},
]


def audited(directory: Path, **changes: Any) -> Audited:
    ticks = {"width": "1m", "idle": 3}
    return audited_series(
        example_of("real_time_local", directory, {"horizon": None, "ticks": ticks, **changes}), 4
    )


@pytest.mark.parametrize("shared", first_in_test(SHARED, 1), ids=str)
def test_all_that_is_measured_loses_what_is_claimed_and_no_attack_proves_more(
    shared: dict[str, Any], tmp_path: Path
) -> None:
    found = audited(tmp_path, epsilon=3.0, delta=1e-3, **shared)
    assert [check.about for check in found.checks if not check.passed] == []
    [worst] = found.worst
    assert 0.97 * worst.claim < worst.leaked <= worst.claim
    effort = Effort(6_000, 99.9, seed=1)
    whole, first = carried_out(found.attacks, effort, lambda runs: None)
    assert whole.exact is not None
    assert first.exact is not None
    assert first.exact < whole.exact <= whole.attack.claim == 3.0
    assert 0.3 < whole.bound <= whole.exact
    assert first.bound <= first.exact


def test_an_attack_on_a_period_begins_in_the_middle_of_one(tmp_path: Path) -> None:
    found = audited(tmp_path, period=4)
    other = found.attacks[0].other
    assert isinstance(other, SeriesWorld)
    assert [number == 180 for number in other.numbers] == [False] * 2 + [True] * 4


def test_a_budget_that_is_not_followed_to_its_end_is_said_to_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "LONGEST", 20)
    found = audited(tmp_path, horizon=70)
    assert any("the end of the budget" in part for part in found.not_reached)
    assert any("more than 64 numbers" in part for part in found.not_reached)
    followed, planned = found.worst
    assert followed.leaked < 0.7 * planned.leaked < 0.7 * planned.claim


def test_noise_that_is_rounded_away_is_not_compared_with_its_law(tmp_path: Path) -> None:
    found = audited(tmp_path, horizon=4, presentation="integer")
    assert any("the law of the noise" in part for part in found.not_reached)
    assert len(found.checks) == 1


def test_nothing_measured_loses_nothing() -> None:
    assert nats_at(0, delta=1e-6) == 0.0
    assert nats_at(1, delta=0.5) == 0.0
