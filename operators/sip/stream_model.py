"""A chain for each stream, learned from its own releases."""

from dataclasses import dataclass

import numpy as np

from fugu.operators import compiled
from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.responses.randomized_response import WORDS, Odds
from fugu.operators.sip.belief_radius import Radius
from fugu.operators.sip.markov_model import normalised, ordered_sum
from fugu.operators.sip.privacy_bound import UNIT_ROUNDOFF


@dataclass(frozen=True, eq=False)
class StreamModels:
    """Learn one chain for each row from randomized responses of that stream alone.

    The responses are `(rows, positions)`, symbols 0..n-1, and n where nothing was released; a chain
    is a first-symbol law `(n, rows)` and a transition matrix `(n, n, rows)`, `transition[u, v]`
    being P(next = v given now = u). Counts are integers and sums are written out in symbol order,
    so that one row alone and in a batch has the same bits.

    Pairs of responses are pairs of truths seen through G = (p - q) I + q 11^T on both sides, so J_x
    = G^-1 J_y G^-1 with G^-1 = (I - q 11^T) / (p - q) estimates the pairs of truths. What comes out
    below 0 is set to 0, and `alpha / n^2` is added to each pair. Rows of it, made to sum to 1, are
    the transition matrix; their shares of all pairs are the law of the first symbol, since one
    stream has only one of those.

    Source: SIP specification, section 6 (cold start).
    """

    prior: Floats
    transition: Floats

    @classmethod
    def learned(cls, responses: Array, symbols: int, odds: Odds, alpha: float) -> "StreamModels":
        """Learn from responses with these odds."""
        counts = pair_counts(responses, symbols).astype(np.float64)
        truths = _undone(_undone(counts, odds).swapaxes(0, 1), odds).swapaxes(0, 1)
        pairs = np.maximum(truths, 0.0) + alpha / (symbols * symbols)
        leaving = ordered_sum(pairs.swapaxes(0, 1))
        return cls(normalised(leaving), pairs / leaving[:, None])

    def predict(self, posterior: Floats) -> Floats:
        """Return P(next symbol) from P(current symbol), both `(n, rows)`."""
        predicted = np.zeros_like(posterior)
        for symbol in range(len(posterior)):
            predicted = predicted + posterior[symbol] * self.transition[symbol]
        return normalised(predicted)

    def belief_after(self, responses: Array, odds: Odds) -> Floats:
        """Return P(next symbol given these responses from the first position on), `(n, rows)`."""
        belief = self.prior
        symbols = np.arange(len(belief))[:, None]
        true, other = odds.likely, odds.unlikely
        for position in range(responses.shape[1]):
            response = responses[:, position]
            likelihood = np.where(symbols == response, true, other)
            answered = response < len(belief)
            belief = self.predict(np.where(answered, normalised(belief * likelihood), belief))
        return belief


def predicted_by_row(posterior: Floats, transitions: Floats) -> Floats:
    """Return beliefs `(rows, n)`, from posteriors `(n, rows)` and chains `(rows, n, n)`."""
    if compiled.available():
        from fugu.operators.sip.compiled_law import predicted

        return predicted(posterior, transitions)
    frozen = StreamModels(np.empty(0), np.moveaxis(transitions, 0, -1))
    return frozen.predict(posterior).T


def worst_radius(symbols: int, positions: int, odds: Odds, alpha: float) -> Radius:
    """Return how far beliefs may be from the exact ones, under the worst model that is learned.

    An entry of J_x is at most N / (p - q)^2 for N pairs, and none of the pairs is below
    alpha / n^2, which bounds the ratio of two entries of the transition matrix. Its rows are
    divided by sums in doubles, so they miss the sum 1 by as many roundings.
    """
    n = symbols
    gap = (odds.favoured - odds.each) / WORDS
    most = n * positions / (gap * gap) + alpha / n
    forgetting = most * n * n / alpha
    return Radius.of(n, 2 * (n + 2) * UNIT_ROUNDOFF, (forgetting + 1.0) / 2.0)


def pair_counts(responses: Array, symbols: int) -> Integers:
    """Return how often v came right after u, `(n, n, rows)`."""
    rows = len(responses)
    now, following = responses[:, :-1].astype(np.int64), responses[:, 1:]
    pair = now * symbols + following
    place = np.arange(rows)[:, None] + pair * rows
    there = (now < symbols) & (following < symbols)
    counts = np.bincount(place[there], minlength=symbols * symbols * rows)
    return counts.reshape(symbols, symbols, rows)


def _undone(counts: Floats, odds: Odds) -> Floats:
    """Apply G^-1 along the first axis."""
    other = odds.unlikely
    return (counts - other * ordered_sum(counts)) / ((odds.favoured - odds.each) / WORDS)
