"""ToPS keeps its word: the law of threshold and tree is enumerated, and attacked.

The threshold is enumerated from its scores and the law of noise, for every pair of neighbours of a
small domain. Given the threshold, nodes have independent discrete Laplace noise, so that the
largest log-likelihood ratio is the sum of what they move by, times their price.
"""

from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.stats import beta

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Floats
from fugu.operators.totals.truncated_totals import Tree, TruncatedTotals
from tests.operators.noise.simulated import SMALLEST_P_VALUE, p_value
from tests.operators.totals.test_truncated_totals import released

LARGEST, LATER = 3, 2
ALARM = 1e-5
RUNS = 300


def threshold_law(tops: TruncatedTotals, first: tuple[int, ...], later: int = LATER) -> Floats:
    """Return P(each threshold), by summing over the noise of the one that wins."""
    price = tops.price_of_score / UNITS_PER_NAT
    noise = np.arange(-int(30 / price), int(30 / price) + 1)
    ratio = exp(-price)
    chances = (1 - ratio) / (1 + ratio) * ratio ** np.abs(noise)
    below = np.append(0.0, np.cumsum(chances))
    scores, found = tops.scores(np.array(first), later), []
    for own, score in enumerate(scores.tolist()):
        wins = chances.copy()
        for other, rival in enumerate(scores.tolist()):
            if other != own:
                most = noise + score - rival - (other < own)
                wins *= below[np.clip(most - noise[0] + 1, 0, len(noise))]
        found.append(float(wins.sum()))
    return np.array(found)


def largest_loss(tops: TruncatedTotals) -> tuple[float, float]:
    """Return what a first number, and a later one, may tell at most, in nats."""
    by_first, by_later = 0.0, 0.0
    firsts = list(product(range(LARGEST + 1), repeat=tops.first))
    in_order = {tuple(sorted(first)) for first in firsts}
    known = {first: threshold_law(tops, first) for first in in_order}
    laws = {first: known[tuple(sorted(first))] for first in firsts}
    for (one, law), (other, beside) in product(laws.items(), repeat=2):
        if np.count_nonzero(np.subtract(one, other)) == 1:
            by_first = max(by_first, float(np.log(law / beside).max()))
    sequences = list(product(range(LARGEST + 1), repeat=LATER))
    for one, other in product(sequences, repeat=2):
        if np.count_nonzero(np.subtract(one, other)) == 1:
            for end in tops.ends.tolist():
                by_later = max(by_later, loss_of_tree(tops, one, other, end))
    return by_first, by_later


def loss_of_tree(
    tops: TruncatedTotals, one: tuple[int, ...], other: tuple[int, ...], end: int
) -> float:
    """Return the largest log-likelihood ratio of noisy nodes, for a threshold."""
    nodes = [tops.nodes(np.array(numbers), end) for numbers in (one, other)]
    moved = sum(int(np.abs(a - b).sum()) for a, b in zip(*nodes, strict=True))
    return moved * tops.price_of_sum(end, tops.tree(len(one))) / UNITS_PER_NAT


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("first", [1, 2, 3])
def test_no_number_tells_more_than_epsilon(first: int, epsilon: float) -> None:
    """The first ones may tell almost all of it, and the later ones all: it is no loose bound."""
    tops = TruncatedTotals(0, LARGEST, epsilon, 1, first)
    law = threshold_law(tops, (1,) * first)
    assert law.sum() == pytest.approx(1.0, abs=1e-9)
    by_first, by_later = largest_loss(tops)
    assert 0.55 * epsilon < by_first <= epsilon * (1 + 1e-9)
    assert by_later == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("kind", [TruncatedTotals])
def test_a_number_in_nodes_of_several_levels_tells_no_more(
    kind: type[TruncatedTotals],
) -> None:
    tops, rng = kind(0, LARGEST, 1.0, 1, 1), np.random.default_rng(1)
    assert tops.tree(4_500) == Tree(16, 2)
    one = rng.integers(0, LARGEST + 1, 4_500)
    for place in (0, 17, 4_351, 4_352, 4_499):
        for end in tops.ends.tolist():
            least, largest = one.copy(), one.copy()
            least[place], largest[place] = 0, LARGEST
            pair = tuple(least.tolist()), tuple(largest.tolist())
            assert loss_of_tree(tops, *pair, end) <= 1.0 + 1e-9


@pytest.mark.slow
def test_step_chooses_the_threshold_by_this_law() -> None:
    tops = TruncatedTotals(0, LARGEST, 1.0, 1, 2)
    values = np.array([1, 3, 2, 0])
    ends = [released(tops, values, seed).annotations["threshold"][0] for seed in range(2 * RUNS)]
    drawn = np.array(ends, dtype=np.int64) - 1
    assert p_value(drawn, threshold_law(tops, (1, 3))) > SMALLEST_P_VALUE


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TruncatedTotals])
def test_who_sees_the_threshold_cannot_tell_a_first_number(
    kind: type[TruncatedTotals],
) -> None:
    """Attack: somebody knows all numbers but one of the first, and sees the threshold 300 times."""
    tops, counts = kind(0, LARGEST, 0.5, 1, 2), []
    for unknown in (0, LARGEST):
        values = np.array([0, unknown, 1, 1])
        ends = [released(tops, values, seed).annotations["threshold"][0] for seed in range(RUNS)]
        counts.append(np.bincount(np.array(ends, dtype=np.int64), minlength=LARGEST + 1))
    for one, other in (counts, counts[::-1]):
        for seen, beside in zip(one.tolist(), other.tolist(), strict=True):
            least = beta.ppf(ALARM, seen, RUNS - seen + 1) if seen else 0.0
            most = beta.ppf(1 - ALARM, beside + 1, RUNS - beside) if beside < RUNS else 1.0
            assert least <= exp(tops.epsilon) * most
