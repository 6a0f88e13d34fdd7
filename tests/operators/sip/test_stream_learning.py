"""Chains that streams learn from their own randomized responses, and beliefs under them."""

from itertools import pairwise, product

import numpy as np
import pytest

from fugu.operators.mechanism import Array, Floats
from fugu.operators.responses.randomized_response import WORDS, Odds
from fugu.operators.sip.learning import learned_from_responses
from fugu.operators.sip.stream_learning import StreamModels, pair_counts

STREAMS = 200
TABLE = [
    (0.5, (0.39, 0.17, 0.06)),
    (1.0, (0.20, 0.07, 0.03)),
    (2.0, (0.10, 0.03, 0.01)),
]
"""Section 6: epsilon, and the mean error after 100, 1000 and 10000 positions."""


def responses_of_binary_chains(rng: np.random.Generator, stays: float, epsilon: float) -> Array:
    """Streams of 10,000 positions that keep their symbol with probability `stays`."""
    moves = rng.random((STREAMS, 10_000)) >= stays
    lies = rng.random((STREAMS, 10_000)) >= Odds.of(1, epsilon).favoured / WORDS
    return ((np.cumsum(moves, axis=1) + lies) % 2).astype(np.uint8)


@pytest.mark.parametrize(("epsilon", "printed"), TABLE)
def test_section_6_says_how_well_a_chain_is_learned(
    epsilon: float, printed: tuple[float, ...]
) -> None:
    """To the printed digits, and the spread of the mean over 200 streams."""
    rng = np.random.default_rng(1)
    responses = responses_of_binary_chains(rng, 0.9, epsilon)
    true = np.array([[0.9, 0.1], [0.1, 0.9]])[:, :, None]
    for positions, expected in zip((100, 1000, 10_000), printed, strict=True):
        odds = Odds.of(1, epsilon)
        learned = StreamModels.learned(responses[:, :positions], 2, odds, alpha=1.0)
        errors = np.abs(learned.transition - true).max(axis=(0, 1))
        standard_error = errors.std() / np.sqrt(STREAMS)
        assert errors.mean() == pytest.approx(expected, abs=0.005 + 4.0 * standard_error)


def test_the_chain_is_the_one_that_counts_of_all_responses_give() -> None:
    rng = np.random.default_rng(2)
    responses = rng.integers(3, size=(4, 300)).astype(np.uint8)
    models = StreamModels.learned(responses, 3, Odds.of(2, 1.5), alpha=0.5)
    counts = pair_counts(responses, 3)
    for row in range(4):
        first = np.bincount(responses[row], minlength=3)
        expected = learned_from_responses(first, counts[:, :, row], epsilon=1.5, alpha=0.5).dense()
        np.testing.assert_allclose(models.transition[:, :, row], expected.transition, atol=1e-9)


def test_a_gap_is_no_pair() -> None:
    counts = pair_counts(np.array([[0, 1, 2, 1, 0, 0]], dtype=np.uint8), 2)
    assert counts[:, :, 0].tolist() == [[1, 1], [1, 0]]


def bayes(prior: Floats, transition: Floats, responses: list[int], odds: Odds) -> Floats:
    """P(next symbol given responses) over all truths."""
    symbols, steps = len(prior), len(responses)
    weights = np.zeros(symbols)
    for truth in product(range(symbols), repeat=steps + 1):
        weight = prior[truth[0]]
        for now, following in pairwise(truth):
            weight *= transition[now, following]
        for symbol, response in zip(truth, responses, strict=False):
            if response < symbols:
                weight *= odds.favoured if symbol == response else odds.each
        weights[truth[-1]] += weight
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("symbols", [2, 3])
def test_the_belief_is_bayes_rule_over_all_responses_and_gaps(symbols: int) -> None:
    odds = Odds.of(symbols - 1, 0.8)
    responses = np.array(list(product(range(symbols + 1), repeat=4)), dtype=np.uint8)
    models = StreamModels.learned(responses, symbols, odds, alpha=1.0)
    belief = models.belief_after(responses, odds)
    for row in range(0, len(responses), 7):
        expected = bayes(
            models.prior[:, row], models.transition[:, :, row], responses[row].tolist(), odds
        )
        np.testing.assert_allclose(belief[:, row], expected, rtol=0, atol=1e-12)


def test_a_row_learns_the_same_bytes_whichever_rows_are_with_it() -> None:
    responses = np.random.default_rng(3).integers(6, size=(50, 40)).astype(np.uint8)
    odds = Odds.of(4, 1.0)
    whole = StreamModels.learned(responses, 5, odds, 1.0)
    belief = whole.belief_after(responses, odds)
    for row in range(50):
        alone = StreamModels.learned(responses[[row]], 5, odds, 1.0)
        assert alone.transition.tobytes() == whole.transition[:, :, [row]].tobytes()
        assert alone.belief_after(responses[[row]], odds).tobytes() == belief[:, [row]].tobytes()
