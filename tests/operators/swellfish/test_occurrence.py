"""delta(J): the paper's example, and the exact maximum by exhaustive search."""

from random import Random

import pytest

from fugu.operators.swellfish.occurrence import Occurrence, affected_ticks
from tests.operators.swellfish.enumeration import most_affected, random_occurrence


def test_example_of_the_paper() -> None:
    short, long = Occurrence(2, 3, (10,)), Occurrence(3, 6, (22, 22))
    assert affected_ticks(2, 3, [short, long]) == 2
    assert affected_ticks(3, 6, [short, long]) == 3


def test_no_neighbours_differ_in_more_ticks_and_the_bound_is_nearly_exact() -> None:
    random = Random(7)
    ratios = []
    for _ in range(2000):
        collection = [random_occurrence(random) for _ in range(random.randrange(1, 5))]
        for one in collection:
            bound = affected_ticks(one.start, one.end, collection)
            exact = most_affected(one.start, one.end, collection)
            assert exact <= bound
            ratios.append(bound / exact)
    mean = sum(ratios) / len(ratios)
    tight = sum(ratio == 1.0 for ratio in ratios) / len(ratios)
    assert mean == pytest.approx(1.0095, abs=0.001)
    assert tight == pytest.approx(0.957, abs=0.01)
