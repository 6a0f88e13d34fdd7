"""By how much one user can change a tick, through everything that happens to records.

Neighbouring inputs keep each record's offset, time and key; what one user contributes is replaced,
by something else or by nothing.
"""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from tests.dataflows.stages.aggregates.exact import (
    GROUPS,
    Aggregate,
    Message,
    Placed,
    differences,
    figures_of,
)
from tests.dataflows.stages.aggregates.test_aggregates import at, city

Replace = Callable[[Random, Message], Message]


def another(random: Random, message: Message) -> Message:
    who, when, *_ = message
    return who, when, random.choice(GROUPS), random.choice([-9.0, -2.0, 0.0, 5.0, 9.0])


def nothing(_: Random, message: Message) -> Message:
    return (*message[:3], 0.0)


def neighbours(placed: Placed, who: str, replace: Replace, random: Random) -> Placed:
    return [
        (where, replace(random, message) if message[0] == who else message)
        for where, message in placed
    ]


@pytest.mark.parametrize(("sums", "most"), [(False, 2), (True, 100)])
def test_another_contribution_changes_a_tick_by_no_more_than_declared(
    sums: bool, most: int
) -> None:
    """Counts by 2, amounts of up to 50 tenths by 100; with duplicates, moves and lateness."""
    random, largest = Random(3), 0
    for seed in range(12):
        placed = city(users=6, ticks=12, partitions=2, seed=seed)
        truth = figures_of(Aggregate(sums=sums), placed)
        for user in range(6):
            changed = neighbours(placed, f"u{user}", another, random)
            change = differences(truth, figures_of(Aggregate(sums=sums), changed))
            largest = max([largest, *(int(np.abs(by).sum()) for by in change.values())])
    assert largest <= most
    assert largest >= 0.9 * most, "the bound is met"


def test_no_contribution_changes_a_sum_by_its_largest_amount() -> None:
    random = Random(4)
    placed = city(users=6, ticks=12, partitions=2)
    truth = figures_of(Aggregate(sums=True), placed)
    for user in range(6):
        changed = figures_of(Aggregate(sums=True), neighbours(placed, f"u{user}", nothing, random))
        assert all(np.abs(by).sum() <= 50 for by in differences(truth, changed).values())


def test_a_record_that_is_taken_away_moves_the_time_of_others() -> None:
    """Why only contributions are protected: without eve's record, three others are in time."""
    eve = (0, at("eve", 2_500))
    others = [(0, at(who, 900)) for who in "abc"]
    later = [(0, at("a", 4_000))]
    with_her = figures_of(Aggregate(1), [(0, at("a", 100)), eve, *others, *later])
    without = figures_of(Aggregate(1), [(0, at("a", 100)), *others, *later])
    assert with_her[0] == [1, 0, 0]
    assert without[0] == [3, 0, 0]
