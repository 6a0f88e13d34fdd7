"""Learn from counts what was there, within what so many records can say."""

from math import exp

import numpy as np
import pytest

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.learning import Counts, learned, learned_from_responses
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.second_order_model import SecondOrderModel
from tests.operators.sip.binary_chain import CASES
from tests.operators.sip.chains import random_second_order

STREAMS = np.array([7, 3, 7, 7, 3, 7, 3])
VALUES = np.array([0, 2, 0, 1, 0, 0, 2])
"""Stream 7 goes 0 0 1 0, stream 3 goes 2 0 2."""


def test_counts_are_of_what_follows_within_one_stream() -> None:
    counts = Counts.of(STREAMS, VALUES, symbols=4, order=2)
    assert counts.first.tolist() == [1, 0, 1, 0]
    assert counts.followers == {
        (0,): {0: 1, 1: 1, 2: 1},
        (1,): {0: 1},
        (2,): {0: 1},
        (0, 0): {1: 1},
        (0, 1): {0: 1},
        (2, 0): {2: 1},
    }
    assert set(Counts.of(STREAMS, VALUES, symbols=4).followers) == {(0,), (1,), (2,)}


@pytest.mark.parametrize("records", [0, 1, 2])
def test_short_histories_are_counted_too(records: int) -> None:
    counts = Counts.of(STREAMS[:records], VALUES[:records], symbols=3, order=2)
    assert counts.first.sum() == records
    assert counts.followers == {}


def test_the_formulas_are_those_of_section_6() -> None:
    """(N(u, v) + alpha) / (N(u) + alpha n), dense and sparse; first symbols likewise."""
    model = learned(Counts.of(STREAMS, VALUES, symbols=4), alpha=0.5)
    expected = np.array([[1.5, 1.5, 1.5, 0.5], [1.5, 0.5, 0.5, 0.5], [1.5, 0.5, 0.5, 0.5]])
    expected = expected / np.array([[5.0], [3.0], [3.0]])
    dense, sparse = model.dense(), model.sparse()
    np.testing.assert_allclose(dense.transition[:3], expected, rtol=1e-14)
    np.testing.assert_allclose(dense.transition[3], 0.25, rtol=1e-14)
    np.testing.assert_allclose(sparse.rows.dense(), dense.transition, rtol=1e-14)
    for prior in (dense.prior, sparse.prior):
        np.testing.assert_allclose(prior, [1.5 / 4, 0.5 / 4, 1.5 / 4, 0.5 / 4], rtol=1e-14)


def test_without_smoothing_a_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="has a zero"):
        learned(Counts.of(STREAMS, VALUES, symbols=3), alpha=0.0).sparse()


def test_a_pair_has_a_row_where_what_was_seen_outweighs_what_is_spread() -> None:
    often = np.tile([0, 0, 1], 4)
    counts = Counts.of(np.zeros(12, dtype=np.int64), often, symbols=3, order=2)
    assert {memory: sum(seen.values()) for memory, seen in counts.followers.items()} == {
        (0,): 8,
        (1,): 3,
        (0, 0): 4,
        (0, 1): 3,
        (1, 0): 3,
    }
    assert [m for m in learned(counts, alpha=4 / 3).rows if len(m) == 2] == [(0, 0)]
    assert [m for m in learned(counts, alpha=1.0).rows if len(m) == 2] == [(0, 0), (0, 1), (1, 0)]
    assert not isinstance(learned(counts, alpha=2.0).sparse(), SecondOrderModel)


def test_a_known_chain_of_second_order_is_found_again() -> None:
    chain = random_second_order(3, 9, seed=2, restarts=(0.0, 0.0))
    rng = np.random.default_rng(1)
    streams = 2000
    first = rng.choice(3, streams, p=chain.prior)
    values = [first, np.array([rng.choice(3, p=chain.rows[(u,)]) for u in first.tolist()])]
    for _ in range(20):
        law = np.array([chain.rows[u, v] for u, v in zip(*values[-2:], strict=True)])
        values.append((rng.random((streams, 1)) > np.cumsum(law, axis=1)).sum(axis=1).clip(0, 2))
    order = np.arange(streams)
    counts = Counts.of(np.tile(order, len(values)), np.concatenate(values), 3, order=2)
    model = learned(counts).sparse()
    assert isinstance(model, SecondOrderModel)
    for row, (u, v) in zip(model.rows.dense()[3:], model.pairs.tolist(), strict=True):
        often = sum(counts.followers[u, v].values())
        np.testing.assert_allclose(row, chain.rows[u, v], atol=4.0 / (2.0 * often**0.5))


def responses(rng: np.random.Generator, truth: Integers, keeps: float) -> Integers:
    return np.where(rng.random(truth.shape) < keeps, truth, 1 - truth)


def counted(released: Integers) -> tuple[Integers, Integers]:
    """First symbols, and pairs, of one stream."""
    pairs = np.bincount(2 * released[:-1] + released[1:], minlength=4).reshape(2, 2)
    return np.bincount(released[:1], minlength=2), pairs


@pytest.mark.parametrize(
    ("epsilon", "printed"),
    [(0.5, (0.39, 0.17, 0.06)), (1.0, (0.20, 0.07, 0.03)), (2.0, (0.10, 0.03, 0.01))],
)
def test_the_error_of_a_chain_learned_from_responses_is_that_of_section_6(
    epsilon: float, printed: tuple[float, float, float]
) -> None:
    """Mean largest error of an entry of C after 100, 1,000 and 10,000 releases."""
    case, keeps = CASES[2], exp(epsilon) / (exp(epsilon) + 1.0)
    rng = np.random.default_rng(6)
    for steps, runs, expected in zip((100, 1000, 10_000), (200, 80, 40), printed, strict=True):
        errors: list[float] = []
        while len(errors) < runs:
            for truth in case.truths(rng, steps).T:
                told = counted(responses(rng, truth, keeps))
                model = learned_from_responses(*told, epsilon).dense()
                errors.append(np.abs(model.transition - case.model().transition).max())
        tolerance = 4.0 * np.std(errors) / len(errors) ** 0.5 + 0.0051
        assert abs(np.mean(errors) - expected) <= tolerance


def test_exact_shares_of_responses_are_undone_exactly() -> None:
    rng = np.random.default_rng(2)
    chain = MarkovModel.smoothed(rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4), 4), 0.1)
    growth = exp(1.5)
    channel: Floats = (np.eye(4) * (growth - 1.0) + 1.0) / (growth + 3.0)
    joint = chain.prior[:, None] * chain.transition
    pairs = np.round(1e12 * channel.T @ joint @ channel).astype(np.int64)
    first = np.round(1e12 * chain.prior @ channel).astype(np.int64)
    found = learned_from_responses(first, pairs, 1.5).dense()
    np.testing.assert_allclose(found.transition, chain.transition, atol=1e-9)
    np.testing.assert_allclose(found.prior, chain.prior, atol=1e-9)
