"""A model for each stream, learned once from its first releases, in columns of a state."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

import numpy as np

from fugu.operators.mechanism import Floats, Integers, State
from fugu.operators.responses.randomized_response import WORDS, Odds
from fugu.operators.sip.belief_radius import Radius
from fugu.operators.sip.proposal import Mask
from fugu.operators.sip.stream_model import StreamModels, predicted_by_row, worst_radius
from fugu.operators.sip.symbol_inputs import checked_belief

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
