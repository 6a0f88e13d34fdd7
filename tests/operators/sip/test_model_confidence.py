"""Intervals around learned models contain the chain that the history came from."""

from math import exp

import numpy as np
import pytest

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.learning import Counts
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.model_confidence import (
    LearnedIntervals,
    intervals_of_responses,
    learned_intervals,
)
from tests.privacy.chains import binary, random_chain

STREAMS, STEPS, HISTORIES = 40, 50, 150


def drawn(rng: np.random.Generator, model: MarkovModel) -> Integers:
    """`(STREAMS, STEPS)` symbols."""
    columns = [_chosen(rng, np.tile(model.prior, (STREAMS, 1)))]
    for _ in range(STEPS - 1):
        columns.append(_chosen(rng, model.transition[columns[-1]]))
    return np.stack(columns, axis=1)


def _chosen(rng: np.random.Generator, laws: Floats) -> Integers:
    reached = np.cumsum(laws, axis=1)[:, :-1] <= rng.random(len(laws))[:, None]
    return np.asarray(reached.sum(axis=1))


def answered(rng: np.random.Generator, truths: Integers, n: int, epsilon: float) -> Integers:
    """Randomized responses, by the definition."""
    others = (truths + rng.integers(1, n, truths.shape)) % n
    honest = rng.random(truths.shape) < exp(epsilon) / (exp(epsilon) + n - 1)
    return np.where(honest, truths, others)


def counted(records: Integers, n: int) -> Counts:
    streams = np.repeat(np.arange(len(records)), records.shape[1])
    return Counts.of(streams, records.ravel(), n)


def holds(intervals: LearnedIntervals, model: MarkovModel) -> bool:
    both = ((intervals.first, model.prior), (intervals.rows, model.transition))
    return all(((low <= p) & (p <= high)).all() for (low, high), p in both)


@pytest.mark.parametrize("symbols", [2, 4])
def test_the_chain_is_inside_as_often_as_stated(symbols: int) -> None:
    rng = np.random.default_rng(symbols)
    inside = 0
    for _ in range(HISTORIES):
        model = random_chain(rng, symbols)
        counts = counted(drawn(rng, model), symbols)
        inside += holds(learned_intervals(counts.first, counts.pairs(), 0.8), model)
    assert inside >= 0.8 * HISTORIES


def test_so_it_is_for_what_randomized_responses_say() -> None:
    rng = np.random.default_rng(9)
    inside = 0
    for _ in range(HISTORIES):
        model = random_chain(rng, 2)
        counts = counted(answered(rng, drawn(rng, model), 2, 2.0), 2)
        inside += holds(intervals_of_responses(counts.first, counts.pairs(), 2.0, 0.8), model)
    assert inside >= 0.8 * HISTORIES


def test_what_is_counted_in_responses_is_on_average_what_truths_have() -> None:
    """So far more responses give intervals around the truth that are narrow, and still right."""
    model, rng = binary(stays=0.9, first=0.5), np.random.default_rng(3)
    first, pairs = np.zeros(2, dtype=np.int64), np.zeros((2, 2), dtype=np.int64)
    for _ in range(300):
        counts = counted(answered(rng, drawn(rng, model), 2, 3.0), 2)
        first, pairs = first + counts.first, pairs + counts.pairs()
    intervals = intervals_of_responses(first, pairs, 3.0, 0.95)
    assert holds(intervals, model)
    low, high = intervals.rows
    assert (high - low).max() < 0.06


def test_more_history_and_less_confidence_make_intervals_narrower() -> None:
    first, pairs = np.array([30, 10]), np.array([[900, 100], [20, 80]])
    few, many = (learned_intervals(k * first, k * pairs, 0.95).rows for k in (1, 100))
    unsure = learned_intervals(first, pairs, 0.5).rows
    assert (many[1] - many[0] < few[1] - few[0]).all()
    assert (unsure[1] - unsure[0] < few[1] - few[0]).all()
    assert (many[1] - many[0]).max() < 0.07


def test_shares_without_their_error_would_miss_the_chain() -> None:
    """The attack on an interval that is a point: no history is its chain."""
    rng, model = np.random.default_rng(4), binary(stays=0.9, first=0.5)
    pairs = counted(drawn(rng, model), 2).pairs()
    assert not np.isclose(pairs / pairs.sum(axis=1)[:, None], model.transition, atol=1e-4).all()


def test_nothing_seen_says_nothing() -> None:
    nothing = np.zeros((2, 2), dtype=np.int64)
    for found in (
        learned_intervals(np.zeros(2, dtype=np.int64), nothing, 0.95),
        intervals_of_responses(np.zeros(2, dtype=np.int64), nothing, 1.0, 0.95),
    ):
        assert (found.rows[0] == 0.0).all()
        assert (found.rows[1] == 1.0).all()
        assert (found.first[0] == 0.0).all()


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, float("nan")])
def test_what_is_no_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence: must be above 0 and below 1"):
        learned_intervals(np.ones(2, dtype=np.int64), np.ones((2, 2), dtype=np.int64), confidence)
