"""Intervals around learned models contain the chain that the history came from."""

from itertools import product
from math import comb, exp

import numpy as np
import pytest

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.learning import (
    Counts,
    LearnedIntervals,
    intervals_of_responses,
    largest_changes,
    learned_intervals,
    unbiased,
)
from fugu.operators.sip.markov_model import MarkovModel
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


def test_an_interval_misses_a_follower_no_oftener_than_its_part_of_delta() -> None:
    """By exact binomial tails, for every number of followers: what the union over them adds up."""
    none = np.zeros(2, dtype=np.int64)
    intervals, delta, half_are_enough = 6, 0.5, True
    grid = np.linspace(0.0, 1.0, 101)
    for seen in range(1, 41):
        missed, missed_by_half = np.zeros(len(grid)), np.zeros(len(grid))
        for found in range(seen + 1):
            pairs = np.array([[found, seen - found], [0, 0]])
            rows = learned_intervals(none, pairs, 1.0 - delta).rows
            low, high, share = rows[0][0, 0], rows[1][0, 0], found / seen
            law = comb(seen, found) * grid**found * (1.0 - grid) ** (seen - found)
            missed += np.where((low <= grid) & (grid <= high), 0.0, law)
            inside = ((low + share) / 2 <= grid) & (grid <= (high + share) / 2)
            missed_by_half += np.where(inside, 0.0, law)
        allowed = delta / (intervals * seen * (seen + 1))
        assert (missed <= allowed).all()
        half_are_enough &= bool((missed_by_half <= allowed).all())
    assert not half_are_enough


@pytest.mark.parametrize("symbols", [2, 3])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_one_response_changes_counts_by_what_the_intervals_pay_for(
    symbols: int, epsilon: float
) -> None:
    """In all streams of three responses; the one in the middle is in two pairs."""
    streams = np.array(list(product(range(symbols), repeat=3)))
    of_pair, of_row = largest_changes(symbols, epsilon)
    reached = {"first": 0.0, "pair": 0.0, "row": 0.0}
    for stream in streams:
        first, truths = unbiased_of(stream, symbols, epsilon)
        for place, symbol in product(range(3), range(symbols)):
            other = stream.copy()
            other[place] = symbol
            other_first, other_truths = unbiased_of(other, symbols, epsilon)
            for name, change in (
                ("first", first - other_first),
                ("pair", truths - other_truths),
                ("row", (truths - other_truths).sum(axis=1)),
            ):
                reached[name] = max(reached[name], float(np.abs(change).max()))
    assert reached["pair"] <= of_pair * (1.0 + 1e-12)
    assert reached["row"] == pytest.approx(of_row)
    assert reached["first"] == pytest.approx(of_row)
    assert reached["pair"] > 0.5 * of_pair


def unbiased_of(stream: Integers, n: int, epsilon: float) -> tuple[Floats, Floats]:
    counts = counted(stream[None], n)
    return unbiased(counts.first, counts.pairs(), epsilon)


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
