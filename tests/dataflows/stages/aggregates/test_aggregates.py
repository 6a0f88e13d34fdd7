"""From records to exact figures: every user counts once in a tick, wherever and whenever cut."""

from random import Random

import numpy as np
import pytest

from fugu.dataflows.stages.log_entries import PartialSums
from fugu.dataflows.stages.stage import Admission
from tests.dataflows.stages.aggregates.exact import GROUPS, Aggregate, Message, Placed, figures_of

NOBODY = [0] * len(GROUPS)
"""Sums of the tick before the first record, to which somebody could still have come."""


def at(who: str, when: int, where: str = "north", amount: float = 1.0) -> Message:
    return who, when, where, amount


def city(users: int, ticks: int, partitions: int, seed: int = 1) -> Placed:
    """Readings out of order, some late, some far ahead, some users with several in a tick."""
    random = Random(seed)
    timed = []
    for tick in range(ticks):
        for user in range(users):
            for _ in range(random.choice([0, 1, 1, 1, 3])):
                when = tick * 1000 + random.randrange(1000)
                shift = random.choice([0] * 60 + [-4_000, 50_000])
                amount = round(random.uniform(-3.0, 6.0), 2)
                message = at(f"u{user}", max(0, when + shift), random.choice(GROUPS), amount)
                timed.append((when + random.randrange(450), user % partitions, message))
    return [(where, message) for _, where, message in sorted(timed)]


def test_users_are_counted_by_group_and_tick() -> None:
    placed = [
        (0, at("a", 100)),
        (0, at("b", 200, "south")),
        (1, at("c", 300)),
        (0, at("a", 1_100, "west")),
        (0, at("a", 2_500)),
        (1, at("c", 2_600, "south")),
    ]
    assert figures_of(Aggregate(), placed) == {-1: NOBODY, 0: [2, 1, 0], 1: [0, 0, 1]}


def test_the_latest_record_of_a_user_counts_wherever_it_is() -> None:
    aggregate = Aggregate(partitions=1, sums=True)
    placed = [(0, at("a", 100, "north", 1.0)), (0, at("b", 150, "north", 9.0))]
    placed += [(0, at("a", 50, "south", 2.0)), (0, at("b", 1_900, "west", -9.0))]
    assert figures_of(aggregate, [*placed, (0, at("c", 9_000))]) == {
        -1: NOBODY,
        0: [50, 20, 0],
        1: [0, 0, -20],
        **{tick: [0, 0, 0] for tick in range(2, 8)},
    }, "amounts are in tenths, clamped to -2 and 5; empty ticks are there"


@pytest.mark.parametrize("at_once", [1, 7])
def test_how_records_are_cut_into_batches_never_shows(at_once: int) -> None:
    placed = city(users=20, ticks=30, partitions=3)
    whole, cut = Aggregate(3, sums=True), Aggregate(3, sums=True)
    assert figures_of(cut, placed, at_once=at_once) == figures_of(whole, placed)
    assert cut.dead == whole.dead
    assert {reason for *_, reason in whole.dead} == {"late", "too_far_ahead"}


def test_how_partitions_write_to_the_log_never_shows() -> None:
    placed = city(users=20, ticks=30, partitions=3)
    aggregate = Aggregate(3)
    partials = aggregate.partials(placed)
    figures = aggregate.merged(partials)
    assert len(figures) > 20
    for seed in range(5):
        random = Random(seed)
        queues = [[one for one in partials if one.partition == p] for p in range(3)]
        mixed = [random.choice([q for q in queues if q]).pop(0) for _ in partials]
        assert aggregate.merged(mixed) == figures
    assert aggregate.merged(partials, restarting=True) == figures
    assert aggregate.merged([*partials[:40], *partials]) == figures, "copies count once"


def test_a_state_that_was_written_and_read_goes_on_the_same() -> None:
    placed = city(users=10, ticks=20, partitions=2)
    restarted = Aggregate()
    partials = []
    for start in range(0, len(placed), 25):
        partials += restarted.partials(placed[start : start + 25])
        restarted.restart()
    assert restarted.merged(partials) == figures_of(Aggregate(), placed)


def test_a_silent_partition_holds_everybody_up_and_a_late_beginner_counts_as_empty() -> None:
    busy: Placed = [(0, at("a", second * 1000)) for second in range(10)]
    assert figures_of(Aggregate(), busy) == {}
    begun = [*busy, (1, at("b", 5_000)), (1, at("b", 7_600))]
    figures = figures_of(Aggregate(), begun)
    assert figures == {-1: NOBODY} | {tick: [1 + (tick == 5), 0, 0] for tick in range(7)}


def test_users_beyond_the_limit_are_refused_and_not_counted() -> None:
    aggregate = Aggregate(1, admission=Admission("unchecked", 1, 2))
    placed = [(0, at(who, 100)) for who in "abc"] + [(0, at("a", 2_000))]
    assert figures_of(aggregate, placed) == {-1: NOBODY, 0: [2, 0, 0]}
    assert aggregate.dead == [(0, 2, "too_many_keys")]


def test_ticks_that_wait_and_to_which_nobody_contributed_take_no_room() -> None:
    aggregate, nothing = Aggregate(), np.zeros(0, dtype=np.int64)
    state = aggregate.merge.start()
    for tick in range(50):
        assert list(aggregate.merge(state, PartialSums(0, tick, nothing, nothing))) == []
    assert len(state.open) == 0
    released = list(aggregate.merge(state, PartialSums(1, 49, np.array([2]), np.array([7]))))
    assert [tick for tick, _ in released] == list(range(50))
    assert released[-1][1].values.tolist() == [[0, 0, 7]]


def test_a_partial_sum_that_was_written_after_the_next_one_still_counts() -> None:
    """As a producer does that gives up a request, delivers the next, and is started again."""
    aggregate = Aggregate(1)
    partials = aggregate.partials([(0, at("a", second * 1000)) for second in range(9)])
    swapped = [*partials[:4], partials[5], partials[4], *partials[6:]]
    figures = aggregate.merged(partials)
    assert figures[4] == [1, 0, 0]
    assert aggregate.merged(swapped, restarting=True) == figures
