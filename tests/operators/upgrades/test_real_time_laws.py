"""A series that a former implementation began keeps its promise with today's schedule."""

import json
from collections.abc import Iterator
from copy import copy
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest

from fugu.operators.auditing.chosen_points import ChosenPoints
from fugu.operators.mechanism import Inputs
from fugu.operators.noise.gaussian_precision import delta_of_draw
from fugu.operators.realtime.account import Account, paid_by
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.realtime.schedule import RHO_OF_STEP
from fugu.operators.upgrades.real_time_laws import (
    Former,
    account_before,
    law_digest_before,
)
from tests.conformance.kinds import KINDS
from tests.operators.upgrades.test_former_laws import is_new

MADE_BY_IMPLEMENTATION_2 = {
    "real_time": "8a9c2b51fb21979e911208698730f37d",
    "real_time_local": "82ac237494015845a5e30504617f7c6d",
}
SHARED: list[dict[str, Any]] = [
    {"horizon": 1},
    {"horizon": 12},
    {"period": 5},
    {"decay": 0.6},
    {"horizon": 12, "shares": (1.0, 4.0, 9.0)},
]
BUDGETS = [(0.05, 1e-7), (5.0, 1e-6)]
NOTHING = ChosenPoints(np.zeros((1, 2), dtype=np.int64))


def with_account(release: RealTimeRelease, account: Account) -> RealTimeRelease:
    """Return the release as it was with another account."""
    former = copy(release)
    object.__setattr__(former, "account", account)
    return former


def steps_of(
    before: RealTimeRelease, after: RealTimeRelease, changed: int, ticks: int
) -> list[int]:
    """Return with how many steps each tick was measured, where `after` goes on at `changed`."""
    state, told = before.start(1), []
    for tick in range(ticks):
        release = before if tick < changed else after
        due = int(release.schedule.steps(state["count"][:, 0])[0])
        state, releases = release.step(state, Inputs(np.full((1, 2), 100)), NOTHING)
        told.append(due * int(releases.annotations["published"][0]))
    return told


def cases() -> Iterator[tuple[RealTimeRelease, Account]]:
    """Yield releases, and accounts of former ones that each of them continues."""
    for shared in SHARED:
        for epsilon, delta in BUDGETS:
            release = RealTimeRelease(2, 1, 2, epsilon, delta, **shared)
            implementations: tuple[Former, ...] = (1, 2)
            for implementation in implementations:
                former = account_before(release, implementation)
                assert former is not None
                assert release.account.covers(former)
                yield release, former


@pytest.mark.parametrize("kind", MADE_BY_IMPLEMENTATION_2)
def test_the_laws_of_implementation_2_are_recognised(kind: str) -> None:
    """The pins were made by that implementation."""
    laws = []
    for example in KINDS[kind].examples():
        if is_new(example.mechanism):
            continue
        assert isinstance(example.mechanism, RealTimeRelease | LocalRealTimeRelease)
        digest = law_digest_before(example.mechanism, 2)
        assert digest is not None
        laws.append([2, digest.hex()])
    pinned = blake2b(json.dumps(laws).encode(), digest_size=16).hexdigest()
    assert pinned == MADE_BY_IMPLEMENTATION_2[kind]


def test_a_series_that_goes_on_at_any_tick_keeps_its_squares_and_its_delta() -> None:
    went_on = 0
    for release, former in cases():
        begun, account = with_account(release, former), release.account
        ticks = 20
        for changed in range(0, ticks, 3):
            steps = steps_of(begun, release, changed, ticks)
            window = release.period or ticks
            for first in range(ticks - window + 1):
                measured = [each for each in steps[first : first + window] if each]
                squares = 2 * sum(each * each for each in measured)
                assert squares <= account.squares <= account.budget // RHO_OF_STEP
                added = sum((delta_of_draw(each, release.epsilon) for each in measured), Fraction())
                assert 2 * added <= account.reserved
            went_on += steps != steps_of(begun, begun, ticks, ticks)
    assert went_on > 50


@pytest.mark.parametrize("number", [1, 2, 5])
def test_few_steps_leave_no_room_between_two_budgets(number: int) -> None:
    """Rounding down leaves most over where steps are few: all pairs of small budgets."""
    release = RealTimeRelease(2, 1, 2, 5.0, 1e-6, horizon=number)
    squares = range(2 * number, 20 * number, number + 1)
    accounts = [paid_by(each * RHO_OF_STEP, release.shared) for each in squares]
    refused = 0
    for former in accounts:
        for account in accounts:
            if not account.covers(former):
                refused += 1
                continue
            begun, now = with_account(release, former), with_account(release, account)
            for changed in {1, number - 1, number}:
                steps = steps_of(begun, now, changed, 2 * number + 3)
                assert 2 * sum(each * each for each in steps) <= account.squares
    assert refused >= len(accounts) * (len(accounts) - 1) // 2


def test_values_after_the_change_are_more_precise_and_what_was_spent_stays_spent() -> None:
    release = RealTimeRelease(2, 1, 2, 3.0, 1e-6, horizon=100)
    former = account_before(release, 2)
    assert former is not None
    steps = steps_of(with_account(release, former), release, 40, 120)
    assert set(steps[:40]) == {former.schedule.first}
    assert set(steps[40:100]) == {release.schedule.first}
    assert set(steps[101:]) == {0}
    assert (former.schedule.first / release.schedule.first) ** 2 == pytest.approx(0.88, abs=0.01)


def test_a_budget_of_which_less_is_left_now_is_not_continued() -> None:
    """The step that the exact account leaves over is more than it gains, where there are few."""
    release = RealTimeRelease(1, 1, 1, 0.000262, 1e-7, horizon=1)
    former = account_before(release, 2)
    assert former is not None
    assert former.squares > release.account.squares
    assert law_digest_before(release, 2) is None
