"""Release symbols privately relative to every Markov model of a set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.columns import binding_digest
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Array, Floats, Integers, Releases, State
from fugu.operators.sip.conditional_randomized_response import (
    LARGEST_SHOWN,
    ConditionalRandomizedResponse,
)
from fugu.operators.sip.guarantees import crr_guarantees, of_every_model, with_gaps
from fugu.operators.sip.integer_law import ExactMeans, SharesLaw
from fugu.operators.sip.kernels import SymbolLaw
from fugu.operators.sip.markov_model import MarkovModel, ordered_sum
from fugu.operators.sip.model_sets import (
    LARGEST_ALPHABET,
    BeliefEnvelope,
    ModelIntervals,
    checked_envelope,
)
from fugu.operators.sip.privacy_bound import WORDS, PrivacyBound, Radius
from fugu.operators.sip.proposals import (
    ExplicitKernel,
    FullMatrix,
    Mask,
    MatrixShares,
    Proposal,
    WrittenKernel,
)

if TYPE_CHECKING:
    from fugu.operators.sip.compiled_law import CompiledLaw


_TIE = 1e-12
"""Costs that differ by less are equal: the earlier proposal stays."""


@dataclass(frozen=True, eq=False)
class EnvelopeMeans(ExactMeans):
    """Bound means under every belief of an envelope; kernels are written out as matrices."""

    envelope: BeliefEnvelope

    def means(self, kernel: WrittenKernel, mean: Floats) -> tuple[Floats, Floats]:
        assert isinstance(kernel, FullMatrix)
        return self.envelope.means(kernel.matrix)


def robust_law(
    belief: Floats,
    envelope: BeliefEnvelope,
    proposals: Sequence[ExplicitKernel],
    table: Floats,
    bound: PrivacyBound,
) -> SharesLaw:
    """Return the law of the proposal that costs least once it is private for the envelope.

    Costs are distances `table (n, n)` to be expected under `belief`, which is one of the envelope.
    What is private is so whichever proposal is taken; which one is a function of public data.
    """
    means, certain = EnvelopeMeans(envelope), np.ones(belief.shape[1], dtype=bool)
    law = SharesLaw.between(belief, proposals[0], bound, certain, means)
    cost = expected_cost(law, table)
    for proposal in proposals[1:]:
        other = SharesLaw.between(belief, proposal, bound, certain, means)
        other_cost = expected_cost(other, table)
        better = other_cost < cost - _TIE
        law, cost = _either(better, other, law), np.where(better, other_cost, cost)
    return law


def _either(better: Mask, this: SharesLaw, that: SharesLaw) -> SharesLaw:
    """Return the columns of `this` law where it is `better`, and of `that` one elsewhere.

    Both are of the same beliefs, and their shares are written out.
    """
    ours, theirs = this.shares, that.shares
    assert isinstance(ours, MatrixShares)
    assert isinstance(theirs, MatrixShares)
    return SharesLaw(
        this.belief,
        this.bound,
        MatrixShares(np.where(better, ours.matrix, theirs.matrix)),
        np.where(better, this.support, that.support),
        np.where(better, this.total, that.total),
        np.where(better, this.common, that.common),
        np.where(better, this.expected, that.expected),
        np.where(better, this.top, that.top),
        np.where(better, this.constant, that.constant),
        np.where(better, this.ratio, that.ratio),
    )


def expected_cost(law: SharesLaw, table: Floats) -> Floats:
    """Return the distance of a release from the truth that is to be expected, per column."""
    matrix = law.shares
    assert isinstance(matrix, FullMatrix)
    weighted = law.belief[:, None] * table[:, :, None]
    anywhere = ordered_sum(weighted)
    always = anywhere[law.top, np.arange(len(law.top))]
    moved = ordered_sum(ordered_sum(weighted * matrix.matrix))
    spread = ordered_sum(anywhere * law.common)
    return np.where(law.constant, always, (moved + spread) / WORDS)


def written_out(proposal: Proposal, belief: Floats) -> ExplicitKernel:
    """Return a proposal as a matrix."""
    n, rows = belief.shape
    each = [proposal.row(np.full(rows, symbol)) for symbol in range(n)]
    return ExplicitKernel(np.stack(each))


def to_itself(belief: Floats) -> ExplicitKernel:
    """Propose each symbol for itself."""
    n, rows = belief.shape
    return ExplicitKernel(np.repeat(np.eye(n)[:, :, None], rows, axis=2))


def to_likeliest(belief: Floats, table: Floats) -> ExplicitKernel:
    """Propose, for every symbol, the one that is nearest to the truth on average."""
    expected = ordered_sum(belief[:, None] * table[:, :, None])
    nearest = np.arange(len(belief))[:, None] == expected.argmin(axis=0)
    return ExplicitKernel(np.repeat(nearest[None].astype(np.float64), len(belief), axis=0))


LOW, HIGH = "low", "high"
"""The columns of the ends of intervals."""


@dataclass(frozen=True, eq=False)
class RobustRelease(ConditionalRandomizedResponse):
    """Release one symbol per record, privately relative to every Markov model of a set.

    Claim. Let the chain be any within `intervals`, other rows of them at every step included. Every
    release leaks at most `epsilon` nats relative to it, whatever was released before, and leakages
    add up: a stream that spent E nats satisfies Sequence Information Privacy (SIP) with E relative
    to *each* model of the set, and 2 E for any prior or correlation. So the promise stays true
    where the model is off by no more than the set: learned from few data, pooled, or drifting.

    How. Nobody knows which member is true, so nobody knows the exact belief. The state holds an
    interval for each of its probabilities (`BeliefEnvelope`) that contains the beliefs of all
    members, and the law is made private for each belief between its ends (`shares_law`). The belief
    of the middle model, `model`, chooses what is proposed: what the kernel proposes, the symbol
    itself, or the likeliest one, whichever then costs least. Charged is what a release leaks for
    the worst member.

    Parameters: those of conditional randomized response, and `intervals` around the model, which
    must contain it. `model` is a dense first-order chain of at most 64 symbols.

    Input, release, annotations: those of conditional randomized response; `confidence` is the
    probability under the middle model. State: its columns, and `low` and `high` `(rows, n)`; no
    count of predictions, since intervals are rounded outwards. No private value is in the state.

    Raises `ValueError` for what conditional randomized response does, for another kind of chain,
    for a larger alphabet, and where the model is not in the set.

    >>> model = MarkovModel(np.full(2, 0.5), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> around = ModelIntervals.around(model, share=0.1)
    >>> robust = RobustRelease(model, epsilon=1.0, intervals=around)
    >>> robust.release_law(robust.start(1))[0].round(3).tolist()
    [[0.805, 0.195], [0.195, 0.805]]

    Source: symbol sampling specification, sections 2 (theorem for a set of beliefs) and 7.
    """

    intervals: ModelIntervals = field(kw_only=True)

    kind: ClassVar[str] = "robust_crr"
    implementation: ClassVar[int] = 1
    radius: ClassVar[Radius] = Radius(step=0.0, most=0.0)
    """Count no predictions: the envelope is rounded outwards by itself."""

    def __post_init__(self) -> None:
        if type(self.model) is not MarkovModel:
            raise ValueError(
                "model: only a matrix of first order can have intervals; rows of a sparse model "
                "and of one of second order cannot"
            )
        if self.model.symbols > LARGEST_ALPHABET:
            raise ValueError(
                f"model: has {self.model.symbols} symbols, and a set of models at most "
                f"{LARGEST_ALPHABET}; merge symbols, or write kind: grr"
            )
        if self.intervals.symbols != self.model.symbols:
            raise ValueError(
                f"within: is about {self.intervals.symbols} symbols, the model has "
                f"{self.model.symbols}"
            )
        if not self.intervals.contains(self.model):
            raise ValueError("within: the model itself must be in the set")
        super().__post_init__()

    def start(self, rows: int) -> State:
        first = BeliefEnvelope.between(
            self.intervals.first_low[:, None], self.intervals.first_high[:, None]
        )
        return {
            **super().start(rows),
            LOW: np.tile(first.low[:, 0], (rows, 1)),
            HIGH: np.tile(first.high[:, 0], (rows, 1)),
        }

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]:
        after, releases = super().skip(state, instead)
        return {**after, **_columns(_envelope(state).predicted(self.intervals))}, releases

    def elapse(self, state: State, ticks: Integers) -> State:
        if self.gaps is None:
            return state
        missed = self.gaps.missed(state["tick"], ticks)
        envelope = _envelope(state)
        low, high = envelope.low.copy(), envelope.high.copy()
        waiting, passed = np.flatnonzero(missed > 0), 0
        while waiting.size:
            before = BeliefEnvelope(low, high).columns(waiting)
            aged, passed = before.predicted(self.intervals), passed + 1
            low[:, waiting], high[:, waiting] = aged.low, aged.high
            moved = ((aged.low != before.low) | (aged.high != before.high)).any(axis=0)
            waiting = waiting[moved & (missed[waiting] > passed)]
        return {**super().elapse(state, ticks), **_columns(BeliefEnvelope(low, high))}

    def told(self, state: State, likelihood: Floats, released: Integers) -> State:
        after = super().told(state, likelihood, released)
        corrected = _envelope(state).corrected(likelihood)
        return {**after, **_columns(corrected.predicted(self.intervals))}

    def law(self, belief: Floats, doubt: Floats | None = None) -> SharesLaw:
        """Return the law of a first release, where the middle model has this belief."""
        rows = belief.shape[1]
        return self._private(belief, _envelope(self.start(rows)))

    def guarantees(self) -> tuple[Guarantee, ...]:
        promised = of_every_model(crr_guarantees(epsilon=self.epsilon), self.intervals)
        return promised if self.gaps is None else with_gaps(promised, self.gaps)

    def audit(self) -> Mapping[str, object]:
        """Return the law of the first release, what it costs, and how far beliefs may be apart."""
        law = self.law(self.model.prior[:, None])
        n = self.model.symbols
        rows = [law.probabilities(np.array([x]))[:, 0] for x in range(n)]
        accuracy = sum(
            float(p * row[x]) for x, (p, row) in enumerate(zip(self.model.prior, rows, strict=True))
        )
        return {
            "first release: probabilities (row = truth, column = released)": (
                [row.tolist() for row in rows] if n <= LARGEST_SHOWN else None
            ),
            "first release: expected accuracy under the middle model": accuracy,
            "first release: charge in nats, which covers every model of the set": in_nats(
                int(law.charge[0])
            ),
            "widest interval of a probability of the set": float(self.intervals.widths.max()),
        }

    def law_digest(self) -> bytes:
        return binding_digest(super().law_digest(), *self.intervals.identity())

    @cached_property
    def _distances(self) -> Floats:
        return self.distance.table(self.model.symbols)

    def _law_at(self, state: State) -> SharesLaw:
        return self._private(self._believed(state), _envelope(state))

    def _law_to_step(self, state: State) -> SharesLaw:
        return self._law_at(state)

    def _private(self, belief: Floats, envelope: BeliefEnvelope) -> SharesLaw:
        proposals = [written_out(self._chosen.propose(belief), belief)]
        if self.mode == "optimal":
            proposals += [to_itself(belief), to_likeliest(belief, self._distances)]
        return robust_law(belief, envelope, proposals, self._distances, self.bound)

    def _after_release(
        self, state: State, law: "SymbolLaw | CompiledLaw", released: Integers
    ) -> tuple[State, Floats]:
        assert isinstance(law, SharesLaw)
        after, posterior = super()._after_release(state, law, released)
        corrected = _envelope(state).corrected(law.likelihood(released))
        return {**after, **_columns(corrected.predicted(self.intervals))}, posterior


def _envelope(state: State) -> BeliefEnvelope:
    return checked_envelope(*(np.ascontiguousarray(state[name].T) for name in (LOW, HIGH)))


def _columns(envelope: BeliefEnvelope) -> State:
    return {
        LOW: np.ascontiguousarray(envelope.low.T),
        HIGH: np.ascontiguousarray(envelope.high.T),
    }
