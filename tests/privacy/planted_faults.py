"""Ten small mistakes that somebody could make in a mechanism, each in one place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from fugu.dataflows.base.batches import Decoded
from fugu.dataflows.stages.batch_result import Advanced, picked
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.budget_units import exact_exp, exact_expm1
from fugu.operators.byte_fields import binding_digest
from fugu.operators.mechanism import Array, Draws, Floats, Inputs, Integers, Releases, State, Words
from fugu.operators.noise.laplace import LaplaceNoise
from fugu.operators.noise.laplace_release import LaplaceRelease
from fugu.operators.randomness import unit_interval
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.hamming_kernel import HammingKernel
from fugu.operators.sip.markov_model import ordered_sum
from fugu.operators.sip.release_law import ReleaseLaw


class BeliefNotUpdated(ConditionalRandomizedResponse):
    """Every release is made as if it were the first."""

    def _after_release(self, state: State, law: Any, released: Integers) -> tuple[State, Floats]:
        after, posterior = super()._after_release(state, law, released)
        return {**after, "belief": state["belief"].copy()}, posterior


class FirstStepFree(ConditionalRandomizedResponse):
    """The ledger begins with the second release."""

    def _after_release(self, state: State, law: Any, released: Integers) -> tuple[State, Floats]:
        after, posterior = super()._after_release(state, law, released)
        free = state["releases"] == 0
        return {**after, "spent": np.where(free, state["spent"], after["spent"])}, posterior


@dataclass(frozen=True, eq=False)
class WrongIndexLaw(ReleaseLaw):
    """a(y|x) with m(x) in the place of m(y)."""

    def probabilities(self, symbols: Integers) -> Floats:
        weights = self._weights(symbols)
        return weights / ordered_sum(weights)

    def sample(self, symbols: Integers, uniforms: Floats) -> Integers:
        cumulative = np.cumsum(self._weights(symbols), axis=0)
        drawn: Integers = (cumulative <= uniforms * cumulative[-1]).sum(axis=0)
        return drawn

    def _weights(self, symbols: Integers) -> Floats:
        mass = self.mass[symbols, np.arange(len(symbols))]
        spread = np.where(self.proposal.support, mass, 0.0)
        return np.asarray(spread + self.gain * self.proposal.row(symbols))


class WrongIndexOffTheDiagonal(ConditionalRandomizedResponse):
    """As in the printed Theorem 4, which has the belief in x where that in y is meant."""

    def law(self, belief: Floats, doubt: Floats | None = None) -> ReleaseLaw:
        gain, growth = exact_expm1(self.epsilon), exact_exp(self.epsilon)
        proposal = HammingKernel(gain, growth).propose(belief)
        right = ReleaseLaw.repaired(belief, proposal, gain, growth)
        return WrongIndexLaw(belief, proposal, gain, right.marginal, right.largest, right.mass)


@dataclass(frozen=True)
class Rebound:
    """Draws that are bound to something else: a function of the row and of what it should be."""

    draws: Draws
    bound: Callable[[int, bytes], bytes]

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        bindings = [self.bound(row, digest) for row, digest in enumerate(binding)]
        return self.draws.words(purpose, bindings, coordinates=coordinates, count=count)


class HalvedNoise(LaplaceNoise):
    """Noise of half the scale."""

    def add(self, values: Array, draws: Draws, purpose: str = "release") -> Integers:
        index = self.grid.index(values)
        return index + (super().add(values, draws, purpose) - index) // 2


class PositiveNoise(LaplaceNoise):
    """Noise without its sign."""

    def add(self, values: Array, draws: Draws, purpose: str = "release") -> Integers:
        index = self.grid.index(values)
        return np.asarray(index + np.abs(super().add(values, draws, purpose) - index))


class UnboundNoise(LaplaceNoise):
    """Noise of the position, whatever it is added to."""

    def add(self, values: Array, draws: Draws, purpose: str = "release") -> Integers:
        return super().add(values, Rebound(draws, lambda row, digest: bytes(32)), purpose)


class RowNumberNoise(LaplaceNoise):
    """Noise of the row of the batch."""

    def add(self, values: Array, draws: Draws, purpose: str = "release") -> Integers:
        return super().add(values, Rebound(draws, binding_digest), purpose)


class FaultyNoise(LaplaceRelease):
    """A release with noise that has a fault."""

    faulty: ClassVar[type[LaplaceNoise]]

    def __post_init__(self) -> None:
        super().__post_init__()
        noise = self.faulty(self.upper - self.lower, self.epsilon, self.lower, self.upper)
        object.__setattr__(self, "noise", noise)


class ScaleOffByTwo(FaultyNoise):
    faulty = HalvedNoise


class SignAlwaysPositive(FaultyNoise):
    faulty = PositiveNoise


class MissingBinding(FaultyNoise):
    faulty = UnboundNoise


class NoiseFromTheRowNumber(FaultyNoise):
    faulty = RowNumberNoise


class ClampAfterNoise(LaplaceRelease):
    """The noise is made for the declared range; what it is added to is not."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, _ = super().step(state, inputs, draws)
        anywhere = LaplaceNoise(self.upper - self.lower, self.epsilon, -(2**40), 2**40)
        noisy = anywhere.grid.value(anywhere.add(inputs.values, draws), self.units_per_one)
        lower, upper = self.lower / self.units_per_one, self.upper / self.units_per_one
        return after, Releases(np.clip(noisy, lower, upper))


class FloatingPointNoise(LaplaceRelease):
    """Textbook inversion in doubles, added to a double."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, _ = super().step(state, inputs, draws)
        clamped = np.clip(inputs.values, self.lower, self.upper)
        words = draws.words("release", [binding_digest(value) for value in clamped.tolist()])
        centred = unit_interval(words[:, 0, 0]) - 0.5
        noise = -np.sign(centred) * np.log1p(-2.0 * np.abs(centred)) * float(self.noise.scale)
        return after, Releases((clamped + noise) / self.units_per_one)


class ChargedOncePerBatch(PerRecord):
    """A key that occurs again in a batch is released again, and not charged again."""

    @cached_property
    def _running(self) -> None:
        return None

    def _step(self, state: State, decoded: Decoded, index: Integers) -> tuple[State, Releases]:
        after, releases = super()._step(state, decoded, index)
        again = [decoded.keys[i] in decoded.keys[:i] for i in index]
        return {**after, "spent": np.where(again, state["spent"], after["spent"])}, releases


class ChargedOncePerRun(PerRecord):
    """The same where a batch is advanced in one call."""

    def _run(self, table: RowTable, rows: Integers, accepted: Decoded) -> Advanced | None:
        distinct, first = np.unique(rows, return_index=True)
        charged = RowTable(self.start)
        charged.rows_of(table.keys)
        charged.scatter(distinct, table.gather(distinct))
        super()._run(charged, rows[first], picked(accepted, first))
        advanced = super()._run(table, rows, accepted)
        spent = charged.gather(distinct)["spent"]
        table.scatter(distinct, {**table.gather(distinct), "spent": spent})
        return advanced
