"""Learn a chain for each stream, once, from its own first releases."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

import numpy as np

from fugu.operators import compiled
from fugu.operators.mechanism import Array, Floats, Integers, State
from fugu.operators.responses.randomized_response import WORDS, Odds
from fugu.operators.sip.inputs import checked_belief
from fugu.operators.sip.markov_model import normalised, ordered_sum
from fugu.operators.sip.privacy_bound import UNIT_ROUNDOFF, Radius
from fugu.operators.sip.proposals import Mask


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


MOST_POSITIONS = 2**20


def enough_positions(symbols: int, odds: Odds) -> int:
    """Return how many positions are enough to learn from: 50 n^2 / (p - q)^4, rounded up."""
    gap = Fraction(odds.favoured - odds.each, WORDS)
    return ceil(50 * symbols**2 / gap**4)


def checked_positions(
    symbols: int, positions: int, odds: Odds, epsilon: float, *, short_too: bool
) -> int:
    """Return how many positions are learned from, enough of them where 0 is given; `ValueError` for
    a number out of bounds, and for too few, unless they are accepted."""
    enough = enough_positions(symbols, odds)
    chosen = positions or enough
    if chosen < 1:
        raise ValueError(f"positions: must be at least 1, not {chosen}")
    if chosen < enough and not short_too:
        raise ValueError(
            f"positions: {chosen} releases at epsilon {epsilon:g} are too few to learn {symbols} "
            f"symbols from, {enough} are enough; fewer are accepted with when_short: accept"
        )
    if chosen > MOST_POSITIONS:
        raise ValueError(
            f"positions: {chosen} bytes would be kept for every stream, and at most "
            f"{MOST_POSITIONS} are; raise epsilon, or release without a model (grr)"
        )
    return chosen


@dataclass(frozen=True)
class StreamLearning:
    """Remember the first `positions` responses of a stream, and learn a chain from all of them.

    Columns: `begun (rows,)` counts positions up to the switch; `responses (rows, positions)` holds
    one byte for each of the first ones, 0 after it; `transition (rows, n, n)` and `belief (rows,
    n)` are 0 before it; and those of the `radius`, which count all positions. A gap is remembered
    as symbol n.

    >>> learning = StreamLearning(2, 3, 1.0, Odds.of(1, 1.0))
    >>> state = learning.start(1)
    >>> nothing = np.full((2, 1), np.nan)
    >>> for _ in range(3):
    ...     state = learning.moved_on(state, learning.warm(state), nothing, np.array([1]))
    >>> learning.warm(state).tolist(), bool(state["belief"][0, 1] > 0.5)
    ([True], True)

    Source: SIP specification, section 6 (cold start).
    """

    symbols: int
    positions: int
    alpha: float
    odds: Odds

    @cached_property
    def radius(self) -> Radius:
        """Return how far beliefs may be from the exact ones, whatever is learned."""
        return worst_radius(self.symbols, self.positions, self.odds, self.alpha)

    @cached_property
    def doubts(self) -> Floats:
        """Return what laws pay for that, by the bit length of the number of predictions."""
        return self.radius.doubts(self.symbols)

    def start(self, rows: int) -> State:
        """Return the columns of streams that have released nothing yet."""
        n = self.symbols
        return {
            "begun": np.zeros(rows, dtype=np.int64),
            "responses": np.zeros((rows, self.positions), dtype=np.uint8),
            "transition": np.zeros((rows, n, n)),
            "belief": np.zeros((rows, n)),
            **self.radius.start(rows),
        }

    def warm(self, state: State) -> Mask:
        """Mark the streams that have a model."""
        return np.asarray(state["begun"] == self.positions)

    def believed(self, state: State, warm: Mask) -> tuple[Floats, Floats]:
        """Return the beliefs of streams that have a model, and what laws pay for them."""
        return checked_belief(state["belief"][warm]), self.radius.doubt(state, self.doubts)[warm]

    def moved_on(self, state: State, warm: Mask, posterior: Floats, event: Integers) -> State:
        """Move on by one position: predict, or remember the response and perhaps switch."""
        begun, responses = state["begun"] + ~warm, state["responses"].copy()
        cold = np.flatnonzero(~warm)
        responses[cold, state["begun"][cold]] = event[cold]
        transition, belief = state["transition"].copy(), state["belief"].copy()
        belief[warm] = predicted_by_row(posterior[:, warm], transition[warm])
        switching = cold[begun[cold] == self.positions]
        if len(switching):
            told = responses[switching]
            learned = StreamModels.learned(told, self.symbols, self.odds, self.alpha)
            transition[switching] = np.moveaxis(learned.transition, -1, 0)
            belief[switching] = learned.belief_after(told, self.odds).T
            responses[switching] = 0
        return {
            "begun": begun,
            "responses": responses,
            "transition": transition,
            "belief": belief,
            **self.radius.after(state),
        }
