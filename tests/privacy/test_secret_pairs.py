"""Secret pairs of a document: complete transcripts tell no pair apart by more than epsilon.

All streams of three ticks over a small domain are followed. A neighbour has, in up to two ticks in
a row, the other value of a pair in place of the one. The largest log-likelihood ratio is exact but
for the law of the noise, which is taken as stated, and for releases beyond the range followed.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from fugu.operators.swellfish.interval_strategies import Unicorn, UnicornPS
from fugu.operators.swellfish.policy import Occurrence
from fugu.operators.swellfish.relevance import Pair, between, distance, steps, threshold
from tests.operators.swellfish.fixed_timeline import FixedTimeline
from tests.privacy.interval_paths import Transcripts, follow

EPSILON, LARGEST, TICKS, LENGTH = 3.0, 3, 3, 2
LOWEST, HIGHEST = -2, 5

ALL = between([Fraction(0), Fraction(1), Fraction(3)])
CHAIN: list[Pair] = [(Fraction(0), Fraction(1)), (Fraction(1), Fraction(3))]
APART: list[Pair] = [(Fraction(0), Fraction(1)), (Fraction(2), Fraction(3))]

Kind = type[UnicornPS] | type[Unicorn]


@cache
def followed(kind: Kind, theta: int) -> Transcripts:
    timeline = FixedTimeline(((Occurrence(0, TICKS - 1, (theta,) * LENGTH),),), LARGEST)
    return follow(kind(timeline, 1, EPSILON), range(LARGEST + 1), TICKS, LOWEST, HIGHEST)


def neighbours(pairs: list[Pair]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield all two streams of which one has other values of pairs, in ticks in a row."""
    others = {value: {value} for value in range(LARGEST + 1)}
    for one, other in [(int(a), int(b)) for a, b in pairs]:  # type: ignore[arg-type]
        others[one].add(other)
        others[other].add(one)
    for stream in product(range(LARGEST + 1), repeat=TICKS):
        for start in range(TICKS - LENGTH + 1):
            ticks = [
                others[value] if start <= tick < start + LENGTH else {value}
                for tick, value in enumerate(stream)
            ]
            for changed in product(*ticks):
                yield stream, changed


def told_apart(kind: Kind, theta: int, pairs: list[Pair]) -> float:
    transcripts = followed(kind, theta)
    return max(transcripts.largest_ratio(*both) for both in neighbours(pairs))


@pytest.mark.parametrize("kind", [UnicornPS, Unicorn])
@pytest.mark.parametrize("pairs", [ALL, CHAIN, APART], ids=["all", "chain", "apart"])
def test_values_of_a_pair_are_told_apart_by_epsilon_at_most(kind: Kind, pairs: list[Pair]) -> None:
    told = told_apart(kind, int(threshold(pairs)), pairs)
    assert 0.7 * EPSILON < told <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("kind", [UnicornPS, Unicorn])
@pytest.mark.parametrize("pairs", [CHAIN, APART], ids=["chain", "apart"])
def test_values_that_are_no_pair_cost_an_epsilon_for_each_step(
    kind: Kind, pairs: list[Pair]
) -> None:
    """And more than one epsilon: that a chain is as good as a pair would be false."""
    told = told_apart(kind, int(threshold(pairs)), ALL)
    assert EPSILON < told <= steps(pairs) * EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("kind", [UnicornPS, Unicorn])
def test_theta_of_the_nearest_pair_would_tell_the_others_apart(kind: Kind) -> None:
    nearest = min(int(distance(*pair)) for pair in ALL)
    assert told_apart(kind, nearest, ALL) > 1.5 * EPSILON
