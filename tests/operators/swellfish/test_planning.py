"""Bound what plans look at: as much as a programme can take, whatever policies ask."""

from itertools import pairwise

import numpy as np

from fugu.operators.swellfish.ledger import Ledgers
from fugu.operators.swellfish.occurrence import Occurrence
from fugu.operators.swellfish.planning import LARGEST_OPEN, foreseen, planned_charges
from tests.operators.swellfish.fixed_timeline import FixedTimeline, random_timeline

CAP = 2**40


def test_stretches_are_all_ticks_in_order_and_neighbours_differ() -> None:
    for seed in range(20):
        timeline = random_timeline(seed)
        stretches = foreseen(timeline, b"", 3, 40)
        assert [stretches[0].first, stretches[-1].last] == [3, 42]
        for one, other in pairwise(stretches):
            assert one.last + 1 == other.first
            assert one.value != other.value
        for one in stretches:
            for tick in range(one.first, one.last + 1):
                assert timeline.relevance(tick, b"") == one.value


def test_a_plan_looks_less_far_ahead_where_many_intervals_are_open() -> None:
    person = tuple(Occurrence(0, 400 + number, (1,)) for number in range(100))
    crowd = FixedTimeline(
        (person, *((Occurrence(tick, tick, (5,)),) for tick in range(0, 400, 2))), 9
    )
    stretches = foreseen(crowd, b"", 0)
    looked_at = sum(len(one.value.intervals) for one in stretches)
    assert LARGEST_OPEN - 101 <= looked_at <= LARGEST_OPEN
    charges = planned_charges(stretches, Ledgers.decoded([b""]), CAP)
    assert min(charges) > 0
    assert len(foreseen(crowd, b"", 0, 1)) == 1


def test_however_many_different_charges_are_spent_as_much_is_left() -> None:
    """Spend 900 of 1,000 ticks that count, no two alike; the others may share the rest."""
    one = FixedTimeline(((Occurrence(0, 999, (1,) * 1000),),), 9)
    spent = np.arange(1, 901) * (CAP // 10**6)
    ledgers = Ledgers.decoded([b""]).opened(np.array([0]), [one.relevance(0, b"").spans])
    for charge in spent:
        ledgers = ledgers.spend(np.array([charge]), CAP)
    [planned] = planned_charges(foreseen(one, b"", 900, 100), ledgers, CAP)
    left = CAP - int(spent.sum())
    assert 0.999 * left <= 100 * planned <= 1.001 * left
