"""Follow a chain between the positions of a batch, and bound what rounding changes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf

import numpy as np

from fugu.operators.budget_units import exact_exp
from fugu.operators.digests import extended
from fugu.operators.mechanism import Floats, Integers, State
from fugu.operators.sip.inputs import TICK, Gaps, predicted
from fugu.operators.sip.markov_model import Chain, FirstOrder, MarkovModel, moved, normalised
from fugu.operators.sip.privacy_bound import LARGEST_DISTANCE, UNIT_ROUNDOFF, Radius, doubt

_SLACK = 1.0 + 2.0**-20
"""Covers products of small numbers, which the sums above leave out."""


def product_distance(model: MarkovModel, window: int) -> float:
    """Return what writing down the probabilities of batches adds to the distance of the belief.

    The exact model is the declared doubles with the prior and each row divided by its exact sum. An
    entry of b(o) = beta(o_1) prod C[o_i, o_i+1] is a product of w numbers: w - 1 of them are of
    rows whose sums may miss 1 by `excess`, and every product rounds. Distances add up, so b(o) is
    within

        d + (2 w + 4) u + 2 (w - 1) excess

    of the exact one if the belief is within d. Sums over symbols, position by position, add 2 w n
    u. Source: symbol sampling specification, section 3 (batches); the last term is its `eta` of
    section 6.
    """
    rows = 2.0 * (window - 1) * model.excess
    return (rows + (2 * window + 4) * UNIT_ROUNDOFF) * _SLACK


def forward_distance(model: MarkovModel, window: int) -> float:
    """Return the same where probabilities are summed over the symbols of each position."""
    sums = 2 * window * model.symbols * UNIT_ROUNDOFF
    return product_distance(model, window) + sums * _SLACK


def doubts_of(distances: Floats, outcomes: int) -> Floats:
    """Return rho of laws over so many batches; infinite where only a constant can be released."""
    few, place = np.unique(distances, return_inverse=True)
    paid = [
        inf if distance > LARGEST_DISTANCE else doubt(distance, outcomes)
        for distance in few.tolist()
    ]
    return np.array(paid)[place]


LARGEST_MATRIX = 512
"""The most states of a chain whose single steps are written down as a matrix."""
LARGEST_POWER = 128
"""The most states where several steps at once are."""
_REMEMBERED = 256
"""The number of powers that are remembered: 32 MB at most."""
_FOR_EACH_STEP = 4
"""Roundings of a step beside those of the chain: what it is multiplied with, or added to."""


@dataclass(frozen=True, eq=False)
class Walk:
    """Let a chain make 1 to `longest` steps from each position of a batch to the next.

    The chain may be of second order: then b(o), the probability of a batch o, is a sum over paths
    of states. With B(s) believed of the state at the first position, last(s) the symbol of a state,
    P one step of the chain and g_i the steps between positions i and i + 1,

        b(o) = sum over s_1, ..., s_w with last(s_i) = o_i of  B(s_1) prod P^g_i(s_i, s_i+1).

    The belief after a release r is about the last state: gamma(s) = sum over o with o_w = last(s)
    of a(r|o) P(o_1, ..., o_w-1, S_w = s) / q(r), and then a step of the chain. The steps are
    public, so a law a(r|o) may depend on them; they are `(window - 1, rows)`.

    Powers of at most 128 states are written down, by squaring, and the latest 256 of them are
    remembered. Larger chains take one step after the other.

    Errors, as Hilbert's distances (`belief_radius`): a power of k steps errs by k times the
    roundings of one, whichever products it was made of. For a batch they are counted as if every
    position had `longest` steps. A chain of first order forgets with every step, whatever is
    released. One of second order does so in two steps (R, `Chain.forgetting_ratio`) if what is
    released of the symbol between depends on this symbol alone. A law a(r|o) of whole batches ties
    it to its neighbours; but it is between q(r) e^-epsilon and q(r) e^epsilon, so the matrix of
    the batch, and a step on both sides, has entries within these factors of those of the chain,
    and a ratio of at most e^(2 epsilon) R. Two batches hold one such matrix.

    Source: SIP specification, sections 4 (second order, gaps) and 8 (batches); symbol sampling
    specification, section 6 (radius).

    >>> sticky = MarkovModel(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> Walk(sticky, longest=5).power(2).round(6).tolist()
    [[0.82, 0.18], [0.18, 0.82]]
    """

    model: Chain
    longest: int = 1

    @property
    def states(self) -> int:
        """Return how many states the chain has."""
        return len(self.model.start)

    @property
    def symbols(self) -> int:
        """Return n, the size of the alphabet."""
        return self.model.symbols

    @cached_property
    def symbol_of_state(self) -> Integers:
        """Return the last symbol of each state."""
        return self.model.symbol_of_state

    @property
    def is_plain(self) -> bool:
        """Return whether it is a matrix of first order, one step at a time."""
        return isinstance(self.model, MarkovModel) and self.longest == 1

    @property
    def has_powers(self) -> bool:
        """Return whether steps are written down as matrices."""
        return self.states <= (LARGEST_MATRIX if self.longest == 1 else LARGEST_POWER)

    @property
    def remembers_symbols_only(self) -> bool:
        """Return whether states are symbols."""
        return isinstance(self.model, FirstOrder)

    def power(self, steps: int) -> Floats:
        """Return the matrix of so many steps."""
        return self._powers(steps)

    def product_distance(self, window: int) -> float:
        """Return what probabilities of batches, as products, add to the distance of a belief."""
        if self.is_plain:
            return product_distance(self._matrix, window)
        return self._moved_distance(window)

    def forward_distance(self, window: int) -> float:
        """Return the same where they are summed position by position."""
        if self.is_plain:
            return forward_distance(self._matrix, window)
        return self._moved_distance(window)

    def roundings(self, window: int, usual: int) -> int:
        """Return the roundings of the probabilities of batches: the `usual` ones, if plain."""
        if self.is_plain:
            return usual
        return window * self.longest * (self.model.roundings + _FOR_EACH_STEP)

    def memory(self, window: int, epsilon: float) -> float:
        """Return the most batches of `epsilon` nats whose errors a belief remembers."""
        if self.remembers_symbols_only or window == 1:
            return self.model.memory
        return exact_exp(2.0 * epsilon) * self.model.forgetting_ratio + 2.0

    def of(self, steps: Integers | None) -> "Moves":
        """Return the moves of streams; without `steps`, all are single ones."""
        return Moves(self, None if self.longest == 1 else steps)

    def _moved_distance(self, window: int) -> float:
        steps = 2.0 * window * self.longest
        roundings = (self.model.roundings + _FOR_EACH_STEP) * UNIT_ROUNDOFF
        return steps * (roundings + self.model.excess) * _SLACK

    @property
    def _matrix(self) -> MarkovModel:
        assert isinstance(self.model, MarkovModel)
        return self.model

    @cached_property
    def _powers(self) -> "Callable[[int], Floats]":
        return lru_cache(_REMEMBERED)(self._power)

    def _power(self, steps: int) -> Floats:
        if steps == 1:
            return self._one_step
        half = self._powers(steps // 2)
        twice = moved(half.T, half).T
        return moved(twice.T, self._one_step).T if steps % 2 else twice

    @cached_property
    def _one_step(self) -> Floats:
        if isinstance(self.model, MarkovModel):
            return self.model.transition
        return np.ascontiguousarray(self.model.move(np.eye(self.states)).T)


@dataclass(frozen=True, eq=False)
class Moves:
    """Move masses over states, `(states, ..., rows)`, from one position of a batch to the next."""

    walk: Walk
    steps: Integers | None = None

    def columns(self, columns: Integers) -> "Moves":
        """Return the moves of some streams."""
        return self if self.steps is None else Moves(self.walk, self.steps[:, columns])

    def onward(self, masses: Floats, position: int) -> Floats:
        """Return where masses at a position are at the next one."""
        if self.walk.has_powers:
            return moved(masses, self._matrix(position))
        return self._one_by_one(masses, position, self.walk.model.move)

    def back(self, values: Floats, position: int) -> Floats:
        """Return, for each state at a position, the mean of `values` at the next one."""
        if self.walk.has_powers:
            return moved(values, self._matrix(position).swapaxes(0, 1))
        return self._one_by_one(values, position, self.walk.model.mean_after)

    def predicted(self, beliefs: Floats, position: int) -> Floats:
        """Return beliefs at the next position, `(states, copies * rows)`: one copy of all rows
        after the other."""
        rows = beliefs.shape[1] if self.steps is None else self.steps.shape[1]
        copies = beliefs.reshape(len(beliefs), -1, rows)
        return normalised(self.onward(copies, position).reshape(beliefs.shape))

    def split(self, joint: Floats, position: int) -> Floats:
        """Go on from each sequence of symbols by the symbol of this position.

        `joint (sequences, states, rows)` is P(symbols before this position, state at it); returned
        is the same of the next one, `(sequences * symbols, states, rows)`.
        """
        walk, matrix = self.walk, self._matrix(position)
        sequences, states, rows = joint.shape
        after = np.zeros((sequences, walk.symbols, states, rows))
        for state, symbol in enumerate(walk.symbol_of_state.tolist()):
            row = matrix[state].reshape(states, -1)
            after[:, symbol] += joint[:, state, None, :] * row
        return after.reshape(-1, states, rows)

    def _matrix(self, position: int) -> Floats:
        """Return the matrix of all streams, or one for each of them as the last axis."""
        if self.steps is None:
            return self.walk.power(1)
        counts = self.steps[position].tolist()
        if len(set(counts)) == 1:
            return self.walk.power(counts[0])
        return np.stack([self.walk.power(count) for count in counts], axis=2)

    def _one_by_one(
        self, masses: Floats, position: int, step: Callable[[Floats], Floats]
    ) -> Floats:
        if self.steps is None:
            return step(masses.reshape(len(masses), -1)).reshape(masses.shape)
        after, counts = masses.copy(), self.steps[position]
        for passed in range(int(counts.max(initial=0))):
            waiting = np.flatnonzero(counts > passed)
            some = np.ascontiguousarray(after[..., waiting])
            after[..., waiting] = step(some.reshape(len(some), -1)).reshape(some.shape)
        return after


STEPS = "steps"
"""The column of the steps between positions of a batch, `(rows, window - 1)`."""
_APART = 32
"""More than the positions of a batch, of which each has a code of its own."""


@dataclass(frozen=True, eq=False)
class GapsInBatches:
    """Count the steps of a chain before each record of batches of `window` positions.

    Before the first position of a batch they are predictions, as for single releases (`gaps`).
    Before a later one the belief stays where it is, at the first, and the number of steps waits for
    the law of the batch. What is released depends on every gap, so the history that draws are
    bound to does: each has a code for its length and its position in the batch.
    """

    gaps: Gaps
    model: Chain
    radius: Radius
    window: int

    def start(self, rows: int) -> State:
        """Return the columns of streams without a record."""
        return {**self.gaps.start(rows), STEPS: np.ones((rows, self.window - 1), dtype=np.int64)}

    def without_steps(self, state: State) -> State:
        """Return the columns where a batch begins."""
        return {STEPS: np.ones_like(state[STEPS])}

    def steps_past(self, state: State) -> Integers:
        """Return how many steps of the chain lie between the first position of the batch and the
        one after those that came."""
        count = np.arange(self.window - 1) < state["held"][:, None]
        return np.asarray(1 + np.where(count, state[STEPS], 0).sum(axis=1))

    def elapse(self, state: State, ticks: Integers) -> State:
        """Bring every row to the tick of its next record; `state` is not modified."""
        missed, held = self.gaps.missed(state[TICK], ticks), state["held"]
        after = {**state, TICK: np.maximum(state[TICK], ticks)}
        if not missed.any():
            return after
        between = np.where(held == 0, missed, 0)
        if between.any():
            after |= predicted(self.model, self.radius, state, between)
        inside = np.flatnonzero((held > 0) & (missed > 0))
        after[STEPS] = state[STEPS].copy()
        after[STEPS][inside, held[inside] - 1] += missed[inside]
        code = extended(state["history"], -(1 + missed) * _APART - held)
        after["history"] = np.where(missed > 0, code, state["history"])
        return after
