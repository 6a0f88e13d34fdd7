"""Strategies for policies keep their word on complete transcripts of one bin, over a few ticks.

For every relevance interval J of a person, truths that differ within J only, and as that person's
policies allow, are told apart by epsilon at most. The largest log-likelihood ratio is exact but for
the law of the noise, which is taken as stated, and for releases beyond the range that is followed.
"""

from collections import Counter
from collections.abc import Iterator
from math import log

import numpy as np
import pytest

from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.interval_strategies import Books, Unicorn, UnicornIS, UnicornPS
from fugu.operators.swellfish.policy import Occurrence
from fugu.operators.swellfish.strategy import WindowStrategy
from fugu.operators.swellfish.ts_strategies import TSBudgetAbsorption, TSBudgetDistribution
from tests.operators.swellfish.fixed_timeline import FixedTimeline, Person, random_timeline
from tests.operators.swellfish.plans import EverythingAtOnce, OwnPlan, WildPlan
from tests.operators.swellfish.running import Strategy
from tests.privacy.interval_paths import Transcripts, follow
from tests.thinned import first_in_test

EPSILON = 4.0
LARGEST = 2
VALUES = range(LARGEST + 1)
LOWEST, HIGHEST = -3, 5
PAIRS = 12
PLANNED = first_in_test([WildPlan, OwnPlan, EverythingAtOnce], 1)


def followed(kind: type[Strategy], timeline: FixedTimeline) -> Transcripts:
    more = {"window": timeline.longest} if issubclass(kind, WindowStrategy) else {}
    strategy = kind(timeline, 1, EPSILON, **more)
    return follow(strategy, VALUES, timeline.ticks, LOWEST, HIGHEST)


def neighbours(
    person: Person, within: Occurrence, ticks: int, seed: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Pairs of N_J: variants of distinct occurrences, added up, as far as they are within J."""
    rng = np.random.default_rng(seed)
    inside = (np.arange(ticks) >= within.start) & (np.arange(ticks) <= within.end)
    for _ in range(PAIRS):
        change = np.zeros(ticks, dtype=np.int64)
        for one in person:
            start = int(rng.integers(one.start, one.end - one.length + 2))
            limits = np.array(one.thresholds)
            change[start : start + one.length] += rng.choice(
                [limits, rng.integers(-limits, limits + 1)]
            )
        truth = rng.integers(0, LARGEST + 1, size=ticks)
        other = np.clip(truth + np.where(inside, change, 0), 0, LARGEST)
        yield truth.tolist(), other.tolist()
        yield other.tolist(), truth.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [UnicornIS, UnicornPS, Unicorn, *PLANNED, TSBudgetDistribution, TSBudgetAbsorption]
)
def test_what_differs_within_an_interval_is_told_apart_by_epsilon_at_most(
    kind: type[Strategy],
) -> None:
    largest = 0.0
    for seed in (0, 2):
        timeline = random_timeline(seed, people=2, occurrences=3, length=3, largest=LARGEST)
        transcripts = followed(kind, timeline)
        for person in timeline.people:
            for within in person:
                for one, other in neighbours(person, within, timeline.ticks, seed):
                    largest = max(largest, transcripts.largest_ratio(one, other))
    assert 0.6 * EPSILON < largest <= EPSILON * (1 + 1e-9)


ONCE = FixedTimeline(((Occurrence(0, 2, (1,)), Occurrence(2, 3, (1,))),), 1)
"""Two intervals with one tick in common; UnicornIS samples ticks 0 and 3."""


def test_the_output_within_an_interval_tells_of_an_earlier_one_and_that_costs_twice() -> None:
    """The literal definition: truths that differ at 0 by one policy and at 3 by the other one, and
    what is published at ticks 2 and 3, which is the sample of tick 0 again, and that of tick 3."""
    transcripts = followed(UnicornIS, ONCE)
    one, other = (marginal(transcripts, truth) for truth in ([0, 1, 1, 0], [1, 1, 1, 1]))
    loss = max(log(one[pair] / other[pair]) for pair in one)
    assert loss == pytest.approx(2 * EPSILON)
    each = [
        transcripts.largest_ratio([0, 1, 1, 0], truth) for truth in ([1, 1, 1, 0], [0, 1, 1, 1])
    ]
    assert each == pytest.approx([EPSILON, EPSILON])


def marginal(transcripts: Transcripts, truth: list[int]) -> Counter[tuple[int, ...]]:
    """Return the law of what is published at ticks 2 and 3."""
    law: Counter[tuple[int, ...]] = Counter()
    for published, probability in transcripts.sequences(truth):
        assert published[0] == published[2]
        law[published[2:]] += probability  # type: ignore[assignment]
    return law


class ForEver(UnicornIS):
    """As printed: the intervals are compared with those of the first sample."""

    @property
    def cap(self) -> int:
        return 10 * self.units

    def _publication(self, books: Books) -> Integers:
        began = (books.ticks[books.ledgers.book] == 0) | (books.ledgers.start > 0)
        return np.where(began, self.units, 0)


def test_comparing_with_the_first_sample_for_ever_tells_twice_as_much() -> None:
    timeline = FixedTimeline(((Occurrence(0, 0, (1,)), Occurrence(1, 3, (1, 1))),), 1)
    ratios = [
        followed(kind, timeline).largest_ratio([0, 0, 0, 0], [0, 1, 1, 0])
        for kind in (UnicornIS, ForEver)
    ]
    assert ratios == pytest.approx([EPSILON, 2 * EPSILON])


class Whole(Unicorn):
    """As printed: all of epsilon for samples, and half of it for decisions."""

    @property
    def cap(self) -> int:
        return self.units

    def _decision(self, books: Books) -> Integers:
        return super()._decision(books) // 2


def test_samples_that_get_all_of_epsilon_tell_half_as_much_again() -> None:
    """Change two ticks in opposite directions, after the first release."""
    timeline = FixedTimeline(((Occurrence(0, 3, (1, 1)),),), 1)
    ratios = [
        followed(kind, timeline).largest_ratio([0, 1, 0, 0], [0, 0, 1, 0])
        for kind in (Unicorn, Whole)
    ]
    assert ratios == pytest.approx([EPSILON, 1.5 * EPSILON])
