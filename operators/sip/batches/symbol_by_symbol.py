"""Batches released symbol by symbol, each with its share of epsilon: possible at every size.

a(r|o) = prod a_i(r_i|o_i), where a_i is the law of conditional randomized response with eps/w at
the belief that r_1..r_i-1 leave; the leakages of the steps add up to at most eps (Theorem 1). The
expected cost is followed along the 8 most likely releases so far, exact where there are no more.

Source: SIP specification section 8 (the per-step product) and sections 3 and 4.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from operators import compiled
from operators.mechanism import Floats, Integers
from operators.nats import charge_of_ratio, exact_exp, exact_expm1, units_of
from operators.sip.distances import Distance
from operators.sip.hamming_kernel import HammingKernel
from operators.sip.kernels import choose_kernel
from operators.sip.markov_model import MarkovModel, normalised, ordered_sum
from operators.sip.proposal import Kernel
from operators.sip.release_law import ReleaseLaw

FOLLOWED = 8


@dataclass(frozen=True, eq=False)
class SymbolBySymbol:
    """The algorithm's constants; `epsilon` is that of a single symbol."""

    model: MarkovModel
    window: int
    distance: Distance
    epsilon: float

    @property
    def draws(self) -> int:
        """One for each symbol."""
        return self.window

    @property
    def outcomes(self) -> int:
        """How many outcomes a draw has."""
        return self.model.symbols

    @property
    def size(self) -> int:
        """The laws along the releases that are followed."""
        return FOLLOWED * self.model.symbols**2

    @property
    def roundings(self) -> int:
        """Those of so many single steps, and of smoothing."""
        return self.window * (4 * self.model.symbols + 48)

    def identity(self) -> tuple[str | int | bytes, ...]:
        """Its name and version, and the kernel's."""
        return ("symbol_by_symbol", 1, *self._kernel.identity())

    def law(self, belief: Floats) -> "ProductLaw":
        """For each column of `belief`."""
        return ProductLaw(self, belief)

    def step(self, belief: Floats) -> ReleaseLaw:
        """The law of one symbol."""
        return ReleaseLaw.repaired(belief, self._kernel.propose(belief), self.gain, self.growth)

    @cached_property
    def table(self) -> Floats:
        """D(x, y)."""
        return self.distance.table(self.model.symbols)

    @cached_property
    def gain(self) -> float:
        """e^epsilon - 1."""
        return exact_expm1(self.epsilon)

    @cached_property
    def growth(self) -> float:
        """e^epsilon."""
        return exact_exp(self.epsilon)

    @cached_property
    def is_compiled(self) -> bool:
        """Whether costs are."""
        return isinstance(self._kernel, HammingKernel) and compiled.available()

    @cached_property
    def _kernel(self) -> Kernel:
        return choose_kernel(
            self.distance,
            "optimal",
            "heuristic",
            self.model.symbols,
            self.gain,
            self.growth,
        )


@dataclass(frozen=True, eq=False)
class ProductLaw:
    """The product of the laws along a release."""

    algorithm: SymbolBySymbol
    belief: Floats

    def columns(self, columns: Integers) -> "ProductLaw":
        """Of some streams."""
        return ProductLaw(self.algorithm, self.belief[:, columns])

    @cached_property
    def cost(self) -> Floats:
        """The sum over positions, along the likeliest releases."""
        if self.algorithm.is_compiled:
            return self._compiled_cost()
        total = np.zeros(self.belief.shape[1])
        belief, weight = self.belief, np.ones((1, self.belief.shape[1]))
        for position in range(self.algorithm.window):
            law = self.algorithm.step(belief)
            shares = normalised(weight)
            total = total + ordered_sum(shares * self._step_cost(law).reshape(weight.shape))
            if position + 1 < self.algorithm.window:
                belief, weight = self._followed(law, shares)
        return total

    @cached_property
    def charge(self) -> Integers:
        """Of the first symbol what it leaks, of the others what they may."""
        first = charge_of_ratio(self.algorithm.step(self.belief).leakage_ratio)
        return first + (self.algorithm.window - 1) * (units_of(self.algorithm.epsilon) + 1)

    def _compiled_cost(self) -> Floats:
        from operators.compiled.symbol_by_symbol import followed_cost

        algorithm = self.algorithm
        model, table = algorithm.model, algorithm.table
        constants = algorithm.window, FOLLOWED, algorithm.gain, algorithm.growth
        return followed_cost(self.belief, model.transition, table, *constants)

    def release(self, batches: Integers, uniforms: Floats) -> Integers:
        """One symbol after the other."""
        released, belief = [], self.belief
        for symbols, uniform in zip(batches, uniforms, strict=True):
            law = self.algorithm.step(belief)
            released.append(law.sample(symbols, uniform))
            belief = self.algorithm.model.predict(law.posterior(released[-1]))
        return np.stack(released)

    def probability(self, batches: Integers, released: Integers) -> Floats:
        """a(r|o); 0 from the first symbol on that cannot be released."""
        columns = np.arange(batches.shape[1])
        total, belief = np.ones(len(columns)), self.belief
        for symbols, shown in zip(batches, released, strict=True):
            law = self.algorithm.step(belief)
            possible = law.proposal.support[shown, columns]
            total = total * np.where(possible, law.probabilities(symbols)[shown, columns], 0.0)
            instead = np.where(possible, shown, np.argmax(law.proposal.support, axis=0))
            belief = self.algorithm.model.predict(law.posterior(instead))
        return total

    def learned(self, released: Integers) -> Floats:
        """What each release says, and what the later ones add to it."""
        learned = np.empty((len(released), *self.belief.shape))
        likelihoods = np.empty_like(learned)
        for position, (law, shown) in enumerate(self._along(released)):
            columns = np.arange(len(shown))
            column = law.proposal.column(shown)
            likelihoods[position] = law.mass[shown, columns] + law.gain * column
            learned[position] = law.posterior(shown)
        later = np.ones_like(self.belief)
        for position in range(len(released) - 2, -1, -1):
            told = normalised(likelihoods[position + 1] * later)
            later = np.zeros_like(told)
            for symbol, share in enumerate(told):
                later = later + share * self.algorithm.model.transition[:, symbol][:, None]
            learned[position] = normalised(learned[position] * later)
        return learned

    def _along(self, released: Integers) -> Iterator[tuple[ReleaseLaw, Integers]]:
        belief = self.belief
        for shown in released:
            law = self.algorithm.step(belief)
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
        cost: Floats = (law.gain * moved + spread) / (law.gain + ordered_sum(law.mass))
        return cost

    def _followed(self, law: ReleaseLaw, shares: Floats) -> tuple[Floats, Floats]:
        """Beliefs and weights of the likeliest continuations, best first, stream after stream."""
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
        chosen = self.algorithm.step(law.belief[:, columns])
        return self.algorithm.model.predict(chosen.posterior(shown)), weight
