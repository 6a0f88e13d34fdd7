"""Batches released symbol by symbol."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import nextafter

import numpy as np

from fugu.operators import compiled
from fugu.operators.budget_units import exact_exp, exact_expm1, units_of
from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.batches.batch_law import Algorithm, BatchLaw
from fugu.operators.sip.batches.model_error import doubts_of
from fugu.operators.sip.belief_radius import Radius
from fugu.operators.sip.distances import Distance
from fugu.operators.sip.hamming_kernel import HammingKernel
from fugu.operators.sip.kernels import choose_kernel
from fugu.operators.sip.markov_model import MarkovModel, normalised, ordered_sum
from fugu.operators.sip.privacy_bound import PrivacyBound
from fugu.operators.sip.private_law import PrivateLaw, check_words, private_law
from fugu.operators.sip.proposal import Kernel
from fugu.operators.sip.release_law import ReleaseLaw

FOLLOWED = 8


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

    model: MarkovModel
    window: int
    distance: Distance
    epsilon: float

    def __post_init__(self) -> None:
        check_words(self.bound, self._kernel, self.model.symbols)

    @property
    def draws(self) -> int:
        return self.window

    @property
    def size(self) -> int:
        return FOLLOWED * self.model.symbols**2

    @property
    def roundings(self) -> int:
        return self.window * (self.model.roundings + 8)

    def identity(self) -> tuple[str | int | bytes, ...]:
        return ("symbol_by_symbol", 2, *self._kernel.identity())

    def law(self, belief: Floats, distances: Floats) -> "ProductLaw":
        return ProductLaw(self, belief, distances)

    def step(self, belief: Floats, distances: Floats, position: int) -> PrivateLaw:
        """Return the law of the symbol at a position; `distances` are those at the first one."""
        doubts = doubts_of(distances + position * self._radius.step, self.model.symbols)
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
        return self.distance.table(self.model.symbols)

    @cached_property
    def gain(self) -> float:
        """Return e^epsilon - 1 of a single symbol."""
        return exact_expm1(self.bound.epsilon)

    @cached_property
    def growth(self) -> float:
        """Return e^epsilon of a single symbol."""
        return exact_exp(self.bound.epsilon)

    @cached_property
    def is_compiled(self) -> bool:
        """Return whether costs are compiled."""
        return isinstance(self._kernel, HammingKernel) and compiled.available()

    @cached_property
    def _radius(self) -> Radius:
        return Radius.of(self.model.roundings, self.model.excess, self.model.memory)

    @cached_property
    def _kernel(self) -> Kernel:
        return choose_kernel(
            self.distance, "optimal", "heuristic", self.model.symbols, self.gain, self.growth
        )


@dataclass(frozen=True, eq=False)
class ProductLaw(BatchLaw):
    """Release by the product of the laws along a release."""

    algorithm: SymbolBySymbol
    belief: Floats
    distances: Floats

    def columns(self, columns: Integers) -> "ProductLaw":
        return ProductLaw(self.algorithm, self.belief[:, columns], self.distances[columns])

    @cached_property
    def cost(self) -> Floats:
        """Return the sum over positions, along the likeliest releases."""
        if self.algorithm.is_compiled:
            from fugu.operators.sip.batches.compiled_symbol_by_symbol import followed_cost

            return followed_cost(self.belief, self.algorithm, FOLLOWED)
        total = np.zeros(self.belief.shape[1])
        belief, weight = self.belief, np.ones((1, self.belief.shape[1]))
        for position in range(self.algorithm.window):
            law = self.algorithm.limit(belief)
            shares = normalised(weight)
            total = total + ordered_sum(shares * self._step_cost(law).reshape(weight.shape))
            if position + 1 < self.algorithm.window:
                belief, weight = self._followed(law, shares)
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
            belief = self.algorithm.model.predict(law.posterior(released[-1]))
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
            belief = self.algorithm.model.predict(law.posterior(instead))
        return total

    def learned(self, released: Integers) -> Floats:
        learned = np.empty((len(released), *self.belief.shape))
        likelihoods = np.empty_like(learned)
        for position, (law, shown) in enumerate(self._along(released)):
            likelihoods[position] = law.likelihood(shown)
            learned[position] = law.posterior(shown)
        later = np.ones_like(self.belief)
        for position in range(len(released) - 2, -1, -1):
            told = normalised(likelihoods[position + 1] * later)
            later = np.zeros_like(told)
            for symbol, share in enumerate(told):
                later = later + share * self.algorithm.model.transition[:, symbol][:, None]
            learned[position] = normalised(learned[position] * later)
        return learned

    def expected(self, released: Integers) -> Floats:
        return np.stack([law.expected_releases() for law, _ in self._along(released)])

    @cached_property
    def _first(self) -> PrivateLaw:
        return self.algorithm.step(self.belief, self.distances, 0)

    def _step(self, belief: Floats, position: int) -> PrivateLaw:
        if position == 0:
            return self._first
        return self.algorithm.step(belief, self.distances, position)

    def _along(self, released: Integers) -> Iterator[tuple[PrivateLaw, Integers]]:
        belief = self.belief
        for position, shown in enumerate(released):
            law = self._step(belief, position)
            yield law, shown
            belief = self.algorithm.model.predict(law.posterior(shown))

    def _step_cost(self, law: ReleaseLaw) -> Floats:
        symbols, columns = law.belief.shape
        moved, spread = np.zeros(columns), np.zeros(columns)
        for symbol in range(symbols):
            far = self.algorithm.table[symbol][:, None]
            row = law.proposal.row(np.full(columns, symbol))
            moved = moved + law.belief[symbol] * ordered_sum(row * far)
            spread = spread + law.belief[symbol] * ordered_sum(law.mass * far)
        return np.asarray((law.gain * moved + spread) / (law.gain + ordered_sum(law.mass)))

    def _followed(self, law: ReleaseLaw, shares: Floats) -> tuple[Floats, Floats]:
        """Return beliefs and weights of the likeliest continuations, best first."""
        followed, rows = shares.shape
        weights = np.where(law.proposal.support, law.mass + law.gain * law.marginal, 0.0)
        likely = normalised(weights) * shares.ravel()
        symbols = len(likely)
        likely = likely.reshape(symbols * followed, rows)
        best = np.argsort(-likely, axis=0, kind="stable")[:FOLLOWED]
        weight = np.take_along_axis(likely, best, axis=0)
        best = np.where(weight > 0.0, best, best[0])
        columns = (best % followed * rows + np.arange(rows)).ravel()
        shown = (best // followed).ravel()
        chosen = self.algorithm.limit(law.belief[:, columns])
        return self.algorithm.model.predict(chosen.posterior(shown)), weight
