"""Release a batch symbol by symbol."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import nextafter
from typing import cast

import numpy as np

from fugu.operators import compiled
from fugu.operators.budget_units import exact_exp, exact_expm1, units_of
from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.batches.batch_law import Algorithm, BatchLaw
from fugu.operators.sip.batches.cluster_sequences import (
    ClusterLaw,
    ClusterSequences,
    central,
    clusters,
)
from fugu.operators.sip.batches.walk import Moves, Walk, doubts_of
from fugu.operators.sip.distances import Distance
from fugu.operators.sip.hamming_kernel import HammingKernel
from fugu.operators.sip.kernels import PrivateLaw, check_words, choose_kernel, private_law
from fugu.operators.sip.markov_model import Chain, normalised, ordered_sum
from fugu.operators.sip.metric_kernel import Assignment
from fugu.operators.sip.privacy_bound import PrivacyBound, Radius
from fugu.operators.sip.proposals import ExplicitKernel, Kernel, StayOrFill
from fugu.operators.sip.release_law import ReleaseLaw


def cost_of_many(law: ReleaseLaw, distance: Distance) -> Floats:
    """Return the cost of each column, without comparing all symbols with each other.

    It is [g E D(X, pi(X)) + sum over y of m(y) E D(X, y)] / (g + M), with the few y that symbols
    are sent to, or, for 0/1 distance, with P(X is not y).

    >>> from fugu.operators.sip.distances import Ordered
    >>> belief = np.array([[0.6], [0.3], [0.1]])
    >>> proposal = Assignment.to(np.array([[0], [0], [2]]))
    >>> law = ReleaseLaw.repaired(belief, proposal, gain=9.0, growth=10.0)
    >>> cost_of_many(law, Ordered()).round(3).tolist()
    [0.33]
    """
    moved, spread = _stays(law) if isinstance(law.proposal, StayOrFill) else _sent(law, distance)
    return np.asarray((law.gain * moved + spread) / (law.gain + ordered_sum(law.mass)))


def _stays(law: ReleaseLaw) -> tuple[Floats, Floats]:
    proposal = cast(StayOrFill, law.proposal)
    fill = np.where(proposal.partial, proposal.partial_fill, proposal.fill)
    moved = ordered_sum(law.belief * (1.0 - proposal.own) * (1.0 - fill))
    return moved, ordered_sum(law.mass * (1.0 - law.belief))


def _sent(law: ReleaseLaw, distance: Distance) -> tuple[Floats, Floats]:
    proposal = cast(Assignment, law.proposal)
    symbols, columns = law.belief.shape
    moved, spread = np.zeros(columns), np.zeros(columns)
    truths = np.repeat(np.arange(symbols), columns)
    for targets, weights in zip(proposal.targets, proposal.weights, strict=True):
        apart = distance.between(truths, targets.ravel()).reshape(symbols, columns)
        moved = moved + ordered_sum(law.belief * weights * apart)
    for column in range(columns):
        for target in np.flatnonzero(proposal.support[:, column]):
            far = distance.from_each(np.array([target]), symbols)
            expected = float(ordered_sum(law.belief[:, [column]] * far)[0])
            spread[column] += law.mass[target, column] * expected
    return moved, spread


MOST_COMPARED = 2_000
"""The most symbols that the other algorithms compare all with each other."""
_SHARES, _STEPS = 2.0**30, 2.0**20
"""The steps in which probabilities and distances are counted: their products add up below 2^63."""


@dataclass(frozen=True, eq=False)
class MiddleGroups(ClusterSequences):
    """Release batches by the group of their middle symbol alone.

    All 36 sequences of groups are spent on one position, so a batch is placed as finely as one
    symbol can be, with the epsilon of all of its symbols. For each group c the whole path of
    central symbols is released, of P(X_i = x, c) at each position i. That suits chains that move
    little within a batch. The law is that of `ClusterSequences` with 1, ..., 36, ..., 1 groups, and
    as private; utility alone differs.

    Nothing is as large as the square of the symbols.

    Source: SIP specification, section 8, algorithm 3, with K_i = 1 but for the middle.
    """

    @cached_property
    def counts(self) -> tuple[int, ...]:
        counts = [1] * self.window
        counts[self._middle] = min(self.most, self.walk.symbols)
        return tuple(counts)

    @property
    def places(self) -> Integers:
        """Return which of the symbols shown at each position a group has: one of its own."""
        return np.tile(np.arange(self.outcomes), (self.window, 1))

    @property
    def name(self) -> str:
        return "middle_groups"

    def law(self, belief: Floats, distances: Floats, steps: Integers | None = None) -> ClusterLaw:
        """Make the law of each column by itself: beliefs over so many symbols do not come again."""
        moves, rows = self.walk.of(steps), belief.shape[1]
        grouped = np.zeros((self.window, self.walk.symbols, rows), dtype=np.int64)
        here = belief
        for position in range(self._middle):
            here = moves.predicted(here, position)
        likely = self.walk.model.marginal(here)
        for row in range(rows):
            grouped[self._middle, :, row] = clusters(likely[:, row], self.outcomes, self.distance)
        joint = self._joint(belief, grouped, moves)
        shown = np.stack([self._shown(position, joint, grouped) for position in range(self.window)])
        prior = normalised(ordered_sum(joint[-1]))
        apart = self.weighted(joint, shown) / prior[:, None]
        proposals = [self.proposed(prior[:, row], apart[:, :, row]) for row in range(rows)]
        proposal = ExplicitKernel.stacked(proposals, self.outcomes)
        doubts = doubts_of(distances + self.walk.forward_distance(self.window), self.outcomes)
        return ClusterLaw(self, grouped, shown, joint, proposal, doubts)

    def weighted(self, joint: Floats, shown: Integers) -> Floats:
        """Return it from the first, the middle and the last position, in whole numbers: exact, and
        the same on every machine."""
        total = np.zeros((self.outcomes, self.outcomes, joint.shape[3]))
        looked_at = sorted({0, self._middle, self.window - 1})
        for position, row in product(looked_at, range(joint.shape[3])):
            far = self.distance.from_each(shown[position, :, row], self.walk.symbols)
            farthest = max(float(far.max()), 1e-100)
            steps = np.rint(far * (_STEPS / farthest)).astype(np.int64)[self.walk.symbol_of_state]
            shares = np.rint(joint[position, :, :, row] * _SHARES).astype(np.int64)
            unit = farthest / (_STEPS * _SHARES) * self.window / len(looked_at)
            total[:, :, row] += (shares.T @ steps) * unit
        return total

    def _shown(self, position: int, joint: Floats, grouped: Integers) -> Integers:
        """Return the central symbol of each group at a position, `(groups, rows)`; at the middle it
        is one of the group."""
        states, groups, rows = joint.shape[1:]
        likely = self.walk.model.marginal(joint[position].reshape(states, -1))
        if position != self._middle:
            return central(likely, self.distance).reshape(groups, rows)
        inside = grouped[position][:, None] == np.arange(groups)[None, :, None]
        return central(likely, self.distance, inside.reshape(len(likely), -1)).reshape(groups, rows)

    def _joint(self, belief: Floats, grouped: Integers, moves: Moves) -> Floats:
        """Return P(S_i = s, group at the middle), `(window, states, groups, rows)`."""
        middle = self._middle
        of_states = grouped[middle, self.walk.symbol_of_state]
        inside = of_states[:, None, :] == np.arange(self.outcomes)[None, :, None]
        joint = np.empty((self.window, *inside.shape))
        before = [belief[:, None, :]]
        for position in range(middle):
            before.append(moves.onward(before[-1], position))
        joint[middle] = np.where(inside, before[middle], 0.0)
        for position in range(middle, self.window - 1):
            joint[position + 1] = moves.onward(joint[position], position)
        later = np.where(inside, 1.0, 0.0)
        for position in reversed(range(middle)):
            later = moves.back(later, position)
            joint[position] = before[position] * later
        return joint

    @property
    def _middle(self) -> int:
        return self.window // 2


FOLLOWED = 8
"""The most releases that the expected cost is followed along; of very many symbols, one."""


@dataclass(frozen=True, eq=False)
class SymbolBySymbol(Algorithm):
    """Release batches symbol by symbol, each with its share of epsilon: possible at every size.

    `epsilon` is that of a whole batch.

    a(r|o) = prod a_i(r_i|o_i), where a_i is the law of conditional randomized response with eps/w
    at the belief that r_1..r_i-1 leave; the leakages of the steps add up to at most eps (Theorem
    1). The expected cost is followed along the 8 most likely releases so far, exact where there are
    no more. Every symbol takes a word of its own, and the radius of the belief grows with every
    step.

    Source: SIP specification section 8 (the per-step product) and sections 3 and 4; symbol sampling
    specification for the words.
    """

    walk: Walk
    window: int
    distance: Distance
    epsilon: float

    def __post_init__(self) -> None:
        check_words(self.bound, self._kernel, self.walk.symbols)

    @property
    def draws(self) -> int:
        return self.window

    @property
    def size(self) -> int:
        n = self.walk.symbols
        return self.followed * (n**2 if n <= MOST_COMPARED else n)

    @property
    def roundings(self) -> int:
        return self.window * self.walk.longest * (self.walk.model.roundings + 8)

    def identity(self) -> tuple[str | int | bytes, ...]:
        return ("symbol_by_symbol", 2, *self._kernel.identity())

    def law(self, belief: Floats, distances: Floats, steps: Integers | None = None) -> "ProductLaw":
        return ProductLaw(self, belief, distances, self.walk.of(steps))

    def step(self, states: Floats, distances: Floats, position: int) -> PrivateLaw:
        """Return the law of the symbol at a position; `distances` are those at the first one."""
        belief, moved = self.walk.model.marginal(states), position * self.walk.longest
        doubts = doubts_of(distances + moved * self._radius.step, self.walk.symbols)
        return private_law(belief, self._kernel.propose(belief), self.bound, doubts)

    def limit(self, belief: Floats) -> ReleaseLaw:
        """Return the law in the limit of infinitely many words, from which costs are taken."""
        return ReleaseLaw.repaired(belief, self._kernel.propose(belief), self.gain, self.growth)

    @cached_property
    def bound(self) -> PrivacyBound:
        """Return the bound of a single symbol: no more than its share, also in exact arithmetic."""
        share = self.epsilon / self.window
        while Fraction(share) * self.window > Fraction(self.epsilon):
            share = nextafter(share, 0.0)
        return PrivacyBound.of(share)

    @cached_property
    def table(self) -> Floats:
        """Return D(x, y)."""
        return self.distance.table(self.walk.symbols)

    @cached_property
    def gain(self) -> float:
        """Return e^epsilon - 1 of a single symbol."""
        return exact_expm1(self.bound.epsilon)

    @cached_property
    def growth(self) -> float:
        """Return e^epsilon of a single symbol."""
        return exact_exp(self.bound.epsilon)

    @property
    def followed(self) -> int:
        """Return how many releases the expected cost is followed along."""
        return FOLLOWED if self.walk.symbols <= MOST_COMPARED else 1

    @cached_property
    def is_compiled(self) -> bool:
        """Return whether costs are compiled."""
        few = self.walk.is_plain and self.walk.symbols <= MOST_COMPARED
        return few and isinstance(self._kernel, HammingKernel) and compiled.available()

    @cached_property
    def _radius(self) -> Radius:
        model = self.walk.model
        return Radius.of(model.roundings, model.excess, model.memory)

    @cached_property
    def _kernel(self) -> Kernel:
        return choose_kernel(
            self.distance, "optimal", "heuristic", self.walk.symbols, self.gain, self.growth
        )


@dataclass(frozen=True, eq=False)
class ProductLaw(BatchLaw):
    """Release by the product of the laws along a release; `belief` is about states."""

    algorithm: SymbolBySymbol
    belief: Floats
    distances: Floats
    moves: Moves

    def columns(self, columns: Integers) -> "ProductLaw":
        belief, distances = self.belief[:, columns], self.distances[columns]
        return ProductLaw(self.algorithm, belief, distances, self.moves.columns(columns))

    @cached_property
    def cost(self) -> Floats:
        """Return the sum over positions, along the likeliest releases."""
        if self.algorithm.is_compiled:
            from fugu.operators.sip.batches.compiled_symbol_by_symbol import followed_cost

            how, steps = self.algorithm, self.algorithm.walk.power(1)
            bound = (how.gain, how.growth)
            return followed_cost(self.belief, steps, how.table, how.window, bound, FOLLOWED)
        total = np.zeros(self.belief.shape[1])
        belief, weight = self.belief, np.ones((1, self.belief.shape[1]))
        for position in range(self.algorithm.window):
            law = self.algorithm.limit(self._model.marginal(belief))
            shares = normalised(weight)
            total = total + ordered_sum(shares * self._step_cost(law).reshape(weight.shape))
            if position + 1 < self.algorithm.window:
                belief, weight = self._followed(belief, law, shares, position)
        return total

    @cached_property
    def charge(self) -> Integers:
        """Charge the first symbol what it leaks, and the others what they may."""
        later = (self.algorithm.window - 1) * self.algorithm.bound.charge
        return np.minimum(self._first.charge + later, units_of(self.algorithm.epsilon))

    @property
    def leakage(self) -> Floats:
        later = (self.algorithm.window - 1) * self.algorithm.bound.epsilon
        return np.asarray(self._first.leakage + later)

    def release(self, batches: Integers, words: Words) -> Integers:
        released, belief = [], self.belief
        for position, (symbols, word) in enumerate(zip(batches, words, strict=True)):
            law = self._step(belief, position)
            released.append(law.draw(symbols, word))
            belief = self._onward(belief, law.posterior(released[-1]), position)
        return np.stack(released)

    def probability(self, batches: Integers, released: Integers) -> Floats:
        """Return a(r|o); 0 from the first symbol on that cannot be released."""
        columns = np.arange(batches.shape[1])
        total, belief = np.ones(len(columns)), self.belief
        for position, (symbols, shown) in enumerate(zip(batches, released, strict=True)):
            law = self._step(belief, position)
            chances = law.probabilities(symbols)
            total = total * chances[shown, columns]
            possible = chances[shown, columns] > 0.0
            instead = np.where(possible, shown, np.argmax(chances, axis=0))
            belief = self._onward(belief, law.posterior(instead), position)
        return total

    def learned(self, released: Integers) -> Floats:
        symbol_of_state = self.algorithm.walk.symbol_of_state
        learned = np.empty((len(released), self.algorithm.walk.symbols, released.shape[1]))
        likelihoods, states = np.empty_like(learned), []
        for position, (law, shown, belief) in enumerate(self._along(released)):
            likelihoods[position] = law.likelihood(shown)
            learned[position] = law.posterior(shown)
            states.append(self._model.correct(belief, learned[position]))
        later = np.ones_like(self.belief)
        for position in range(len(released) - 2, -1, -1):
            told = normalised(likelihoods[position + 1][symbol_of_state] * later)
            later = self.moves.back(told, position)
            learned[position] = self._model.marginal(normalised(states[position] * later))
        return learned

    def last_state(self, released: Integers, learned: Floats) -> Floats:
        if self.algorithm.walk.remembers_symbols_only:
            return np.asarray(learned[-1])
        *_, (_, _, belief) = self._along(released)
        return self._model.correct(belief, learned[-1])

    def expected(self, released: Integers) -> Floats:
        return np.stack([law.expected_releases() for law, _, _ in self._along(released)])

    @property
    def _model(self) -> Chain:
        return self.algorithm.walk.model

    @cached_property
    def _first(self) -> PrivateLaw:
        return self.algorithm.step(self.belief, self.distances, 0)

    def _step(self, belief: Floats, position: int) -> PrivateLaw:
        if position == 0:
            return self._first
        return self.algorithm.step(belief, self.distances, position)

    def _along(self, released: Integers) -> Iterator[tuple[PrivateLaw, Integers, Floats]]:
        """Yield the law of each position, what it released, and the belief about the state."""
        belief = self.belief
        for position, shown in enumerate(released):
            law = self._step(belief, position)
            yield law, shown, belief
            belief = self._onward(belief, law.posterior(shown), position)

    def _onward(self, belief: Floats, posterior: Floats, position: int) -> Floats:
        """Return the belief at the next position of the batch, if it has one."""
        if position + 1 == self.algorithm.window:
            return belief
        return self.moves.predicted(self._model.correct(belief, posterior), position)

    def _step_cost(self, law: ReleaseLaw) -> Floats:
        if self.algorithm.walk.symbols > MOST_COMPARED:
            return cost_of_many(law, self.algorithm.distance)
        symbols, columns = law.belief.shape
        moved, spread = np.zeros(columns), np.zeros(columns)
        for symbol in range(symbols):
            far = self.algorithm.table[symbol][:, None]
            row = law.proposal.row(np.full(columns, symbol))
            moved = moved + law.belief[symbol] * ordered_sum(row * far)
            spread = spread + law.belief[symbol] * ordered_sum(law.mass * far)
        return np.asarray((law.gain * moved + spread) / (law.gain + ordered_sum(law.mass)))

    def _followed(
        self, belief: Floats, law: ReleaseLaw, shares: Floats, position: int
    ) -> tuple[Floats, Floats]:
        """Return beliefs and weights of the likeliest continuations, best first."""
        followed, rows = shares.shape
        weights = np.where(law.proposal.support, law.mass + law.gain * law.marginal, 0.0)
        likely = normalised(weights) * shares.ravel()
        symbols = len(likely)
        likely = likely.reshape(symbols * followed, rows)
        best = np.argsort(-likely, axis=0, kind="stable")[: self.algorithm.followed]
        weight = np.take_along_axis(likely, best, axis=0)
        best = np.where(weight > 0.0, best, best[0])
        columns = (best % followed * rows + np.arange(rows)).ravel()
        shown = (best // followed).ravel()
        chosen = self.algorithm.limit(law.belief[:, columns])
        corrected = self._model.correct(belief[:, columns], chosen.posterior(shown))
        return self.moves.predicted(corrected, position), weight
