"""PeGaSus keeps its word on every pattern of groups, over four ticks of one bin.

Groups do not depend on noisy figures, so the largest log-likelihood ratios of both add up. That of
figures is what they cost. That of groups is found here: the law of a pattern is summed over all
thresholds, from the definition; a test in `tests/operators/wevent` has the step follow it.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Floats
from fugu.operators.wevent.pegasus import Pegasus

WINDOW, EPSILON, TICKS, LARGEST = 2, 20.0, 4, 3
PEGASUS = Pegasus(1, WINDOW, EPSILON, sensitivity=1)
GROUPING = PEGASUS.grouping / UNITS_PER_NAT
FARTHEST = 300
NOISE = np.arange(-FARTHEST, FARTHEST + 1)

Test = Callable[[int], Floats]


@cache
def law(scale: float) -> Floats:
    """Return the discrete Laplace law on `NOISE`."""
    ratio = np.exp(-1.0 / scale)
    return np.asarray((1 - ratio) / (1 + ratio) * ratio ** np.abs(NOISE))


@cache
def below(deviation: int, scale: float = 8.0 / GROUPING) -> Floats:
    """Return P(a test of this deviation holds), for each noise of the threshold."""
    most = PEGASUS.reach + NOISE - deviation - 1
    within = np.cumsum(law(scale))[(most + FARTHEST).clip(0, 2 * FARTHEST)]
    return np.where(most < -FARTHEST, 0.0, within)


def nearly_open(deviation: int) -> Floats:
    """Return the same with an eighth of the noise."""
    return below(deviation, 1.0 / GROUPING)


def deviation(figures: Sequence[int]) -> int:
    count, total = len(figures), sum(figures)
    return sum(abs(count * one - total) for one in figures) // count


def patterns(truth: Sequence[int], test: Test) -> dict[tuple[bool, ...], float]:
    """Return P(which ticks join the group before them)."""
    found = {}
    for joins in product((False, True), repeat=TICKS - 1):
        chance, weight, group, is_open = 1.0, law(4.0 / GROUPING), [truth[0]], True
        for value, join in zip(truth[1:], joins, strict=True):
            if is_open:
                holds = test(deviation([*group, value]))
                weight = weight * (holds if join else 1.0 - holds)
                group, is_open = [*group, value], join
            else:
                chance *= 0.0 if join else float(weight.sum())
                weight, group, is_open = law(4.0 / GROUPING), [value], True
        found[joins] = chance * float(weight.sum())
    return found


def largest_ratio(test: Test, window: int) -> float:
    """Return that between truths which differ within a window only, by 1 in each tick."""
    truths = list(product(range(LARGEST + 1), repeat=TICKS))
    laws = {truth: patterns(truth, test) for truth in truths}
    largest = 0.0
    for one, other in product(truths, repeat=2):
        apart = np.abs(np.subtract(one, other))
        changed = np.flatnonzero(apart)
        if len(changed) and np.ptp(changed) < window and apart.max() <= 1:
            ratios = [
                np.log(chance / laws[other][pattern])
                for pattern, chance in laws[one].items()
                if chance > 0.0
            ]
            largest = max(largest, *ratios)
    return largest


def test_patterns_are_a_law() -> None:
    for truth in ((0, 0, 0, 0), (0, 3, 0, 3), (1, 2, 3, 3)):
        assert sum(patterns(truth, below).values()) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("window", "of_bound"), [(1, 0.283), (2, 0.214), (4, 0.163)])
def test_groups_and_figures_of_a_window_tell_no_more_than_its_shares(
    window: int, of_bound: float
) -> None:
    """Groups of four ticks tell far less than they may: a sparse vector is bounded from above."""
    groups = largest_ratio(below, window)
    assert groups / (window * GROUPING) == pytest.approx(of_bound, abs=0.001)
    figures = window * (PEGASUS.share - PEGASUS.grouping) / UNITS_PER_NAT
    assert figures + groups <= window * PEGASUS.share / UNITS_PER_NAT <= EPSILON * window / WINDOW


def test_an_eighth_of_the_noise_of_tests_breaks_the_claim() -> None:
    assert largest_ratio(nearly_open, 1) > GROUPING
