"""Robust release, by exhaustive enumeration of truths and releases, for the members of its set."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from fugu.operators.auditing.enumeration import sequences
from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import Floats
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.model_sets import ModelIntervals
from fugu.operators.sip.robust_release import RobustRelease
from tests.operators.sip.model_sets import Drifting, constant_corners
from tests.privacy.chains import binary, random_chain
from tests.privacy.leakage import ROUNDING, about_truth, all_sequences

STICKY = binary(stays=0.9, first=0.5)

Path = tuple[int, ...]


def random_set(rng: np.random.Generator, symbols: int) -> tuple[MarkovModel, ModelIntervals]:
    model = random_chain(rng, symbols)
    share, amount = float(rng.choice([0.02, 0.1, 0.3])), float(rng.choice([0.0, 0.02]))
    return model, ModelIntervals.around(model, share=share, amount=amount)


def drifting(intervals: ModelIntervals, steps: int, seed: int, *, between: bool) -> Floats:
    """Return how likely each truth is where every step has rows of its own."""
    member = Drifting(intervals, seed, between=between)
    first = member.first()
    likely: dict[Path, Fraction] = {(x,): first[x] for x in range(len(first))}
    for _ in range(steps - 1):
        rows = member.rows()
        likely = {
            (*truth, v): chance * rows[truth[-1]][v]
            for truth, chance in likely.items()
            for v in range(len(first))
        }
    every = product(range(len(first)), repeat=steps)
    return np.array([float(Fraction(likely[truth])) for truth in every])


def members(intervals: ModelIntervals, steps: int) -> Iterator[Floats]:
    """Yield how likely each truth is, for members that drift within the intervals."""
    for seed in range(10):
        for between in (False, True):
            yield drifting(intervals, steps, seed, between=between)


@pytest.mark.parametrize(("symbols", "steps", "sets"), [(2, 5, 6), (3, 3, 5)])
def test_the_ledger_of_every_path_covers_what_it_leaked_for_every_member(
    symbols: int, steps: int, sets: int
) -> None:
    rng = np.random.default_rng([symbols, steps])
    worst = 0.0
    for _ in range(sets):
        epsilon = float(np.exp(rng.uniform(np.log(0.2), np.log(6.0))))
        model, around = random_set(rng, symbols)
        for paths in sequences(RobustRelease(model, epsilon, intervals=around), steps):
            for likely in members(around, paths.steps):
                leaked = paths.about_truth(likely)
                assert (leaked <= paths.spent + ROUNDING).all()
                worst = max(worst, float((leaked / np.maximum(paths.spent, 1e-3)).max()))
            assert (paths.about_streams() <= 2.0 * paths.spent + ROUNDING).all()
    assert worst > 0.5


def test_so_it_does_for_every_binary_chain_at_a_corner() -> None:
    for epsilon, within in product((0.5, 2.0), ({"share": 0.1}, {"amount": 0.05})):
        around = ModelIntervals.around(STICKY, **within)
        paths = all_sequences(RobustRelease(STICKY, epsilon, intervals=around), 5)
        for member in constant_corners(around):
            assert (about_truth(paths, member) <= paths.spent + ROUNDING).all()


@pytest.mark.parametrize("window", [None, 3])
def test_so_does_that_of_a_budget_also_at_positions_without_a_release(window: int | None) -> None:
    around = ModelIntervals.around(STICKY, share=0.1)
    robust = RobustRelease(STICKY, 1.0, intervals=around)
    budgeted = Budgeted(robust, total=1.5, window=window, when_exhausted="constant")
    paths = all_sequences(budgeted, 6)
    for likely in (drifting(around, 6, seed, between=False) for seed in range(10)):
        assert (paths.about_truth(likely) <= paths.spent + ROUNDING).all()


@pytest.mark.parametrize("width", [0.02, 0.05])
def test_a_member_of_the_set_breaks_the_law_that_is_for_its_middle_alone(width: float) -> None:
    """This is why intervals are needed."""
    paths = all_sequences(ConditionalRandomizedResponse(STICKY, epsilon=1.0), 5)
    around = ModelIntervals.around(STICKY, amount=width)
    leaked = max(
        (about_truth(paths, member) - paths.spent).max() for member in constant_corners(around)
    )
    assert leaked > 0.05


@pytest.mark.parametrize("width", [0.02, 0.05])
def test_a_model_just_outside_the_set_learns_more_than_the_ledger_says(width: float) -> None:
    """The claim is about the set, and the set is not larger than it says."""
    around = ModelIntervals.around(STICKY, amount=width)
    paths = all_sequences(RobustRelease(STICKY, epsilon=1.0, intervals=around), 5)
    outside = ModelIntervals.around(STICKY, amount=width + 0.02)
    leaked = max(
        (about_truth(paths, member) - paths.spent).max() for member in constant_corners(outside)
    )
    assert leaked > 0.01


def test_anybody_learns_at_most_twice_as_much() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        model, around = random_set(rng, 3)
        paths = all_sequences(
            RobustRelease(model, float(rng.uniform(0.1, 3.0)), intervals=around), 3
        )
        for _ in range(10):
            leaked = about_truth(paths, random_chain(rng, 3))
            assert (leaked <= 2.0 * paths.spent + ROUNDING).all()
