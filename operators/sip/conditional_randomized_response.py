"""Release one symbol at a time, by a law that depends on a belief."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fugu.operators.budget_units import LARGEST_CHARGE, add_spent, exact_exp, exact_expm1
from fugu.operators.columns import Bytes, binding_digest
from fugu.operators.digests import extended
from fugu.operators.guarantee import Guarantee, Point
from fugu.operators.mechanism import (
    Array,
    ChargingRunningMechanism,
    Draws,
    EnumerableMechanism,
    Floats,
    Inputs,
    Integers,
    Releases,
    Run,
    State,
    TimedMechanism,
)
from fugu.operators.multi_step import run_in_rounds
from fugu.operators.randomness import KeyedDraws
from fugu.operators.sip.distances import HAMMING, Distance
from fugu.operators.sip.guarantees import crr_guarantees, with_gaps
from fugu.operators.sip.inputs import Gaps, bound_to, checked_belief, checked_symbols, digest_table
from fugu.operators.sip.integer_law import FORMAT
from fugu.operators.sip.kernels import (
    Mode,
    Search,
    SymbolLaw,
    check_words,
    choose_kernel,
    has_compiled_law,
    has_compiled_prediction,
    private_law,
)
from fugu.operators.sip.markov_model import Chain, MarkovModel, normalised
from fugu.operators.sip.privacy_bound import PrivacyBound, Radius
from fugu.operators.sip.proposals import IdentityKernel, Kernel
from fugu.operators.sip.release_law import ReleaseLaw
from fugu.operators.whole_numbers import take_whole_numbers

if TYPE_CHECKING:
    from fugu.operators.sip.compiled_adaptive_release import CompiledAdaptiveStep
    from fugu.operators.sip.compiled_law import CompiledLaw
    from fugu.operators.sip.compiled_steps import CompiledStep


class SymbolReleases(ChargingRunningMechanism, ABC):
    """Release by a law at a belief: a chain predicts it, and releases alone correct it."""

    model: Chain

    extra_roundings: ClassVar[int] = 0
    """Roundings of one step besides those of the chain."""

    @cached_property
    def radius(self) -> Radius:
        """Return how far beliefs may be from the exact ones."""
        roundings = self.model.roundings + self.extra_roundings
        return Radius.of(roundings, self.model.excess, self.model.memory)

    @cached_property
    def doubts(self) -> Floats:
        """Return what laws pay for that, by the bit length of the number of predictions."""
        return self.radius.doubts(self.model.symbols)

    def _doubt(self, state: State) -> Floats:
        """Return what the law of each row pays."""
        return self.radius.doubt(state, self.doubts)

    @property
    @abstractmethod
    def _compiled(self) -> "CompiledStep | CompiledAdaptiveStep | None":
        """Return compiled code for several positions in one call, where there is any."""

    @abstractmethod
    def observe(self, state: State, released: Integers) -> tuple[State, Floats]:
        """Return P(truth | releases so far), `(rows, n)`, after one release per row."""

    @property
    def runs(self) -> bool:
        return self._compiled is not None

    def run(
        self, state: State, rows: Integers, inputs: Inputs, draws: Draws, total: int | None = None
    ) -> Run:
        """Run one position after the other, compiled; in rounds for draws of another kind."""
        if self._compiled is None or type(draws) is not KeyedDraws:
            return run_in_rounds(self, state, rows, inputs, draws, total)
        symbols = checked_symbols(inputs, self.model.symbols)
        return self._compiled.run(state, rows, symbols, draws, total)

    def follow(self, state: State, released: Integers) -> State:
        """Belief and ledger depend on releases alone."""
        return self.observe(state, released)[0]

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]:
        """Predict only; the confidence of `instead` is its probability given earlier releases."""
        belief = checked_belief(state["belief"])
        after = {
            **state,
            "belief": np.ascontiguousarray(self.model.skip(belief).T),
            **self.radius.after(state),
            "history": extended(state["history"], np.zeros(len(instead), dtype=np.int64)),
        }
        confidence = self.model.marginal(belief)[instead, np.arange(len(instead))]
        return after, Releases(instead, {"confidence": confidence})

    @cached_property
    def _bindings(self) -> Bytes:
        return digest_table(range(self.model.symbols))


LARGEST_SHOWN = 32
"""The whole law is written out for so many symbols."""


@dataclass(frozen=True, eq=False)
class ConditionalRandomizedResponse(SymbolReleases, EnumerableMechanism, TimedMechanism):
    """Release one symbol per record by bounded conditional randomized response (CRR).

    Claim. Every release has instantaneous information leakage of at most `epsilon` nats relative to
    the declared Markov model, whatever was released before: |ln a(y|x)/q(y)| <= epsilon for every
    input x and output y. Leakages of successive releases add up (Theorem 1), so a stream that spent
    E nats satisfies Sequence Information Privacy (SIP) with E relative to the model, and 2 E for
    *any* prior or correlation, because every release is 2 epsilon-LDP. What was really spent is
    often less than `epsilon` per release; the state counts it as an integer of 2^-40 nats, rounded
    up.

    Parameters: `model`, a chain over n symbols that gives every one of them a chance at any time;
    `epsilon` in nats, 0 < epsilon <= 50. How useful releases are, never how private, is up to
    `distance` (what an error costs: `Hamming()`, `Ordered()` or `Points(coordinates)`), `mode`
    ("optimal", or "full_support": every symbol stays releasable) and `kernel` ("heuristic", or
    "linear_program" for at most 32 symbols). With `gaps`, steps of the chain take time, and
    `elapse` brings streams to the time of their next record.

    Input: symbol indices `(rows,)`, 0..n-1. Release: symbol indices `(rows,)`, annotated with
    `confidence`, the probability that the released symbol is the true one given all releases.

    State: `belief (rows, states of the chain)`, `releases (rows,)`, `spent (rows,)`, and `history
    (rows,)`, a digest of what was released, to which draws are bound: the same truth at the same
    place after other releases meets another law, and must not meet it with the same word. With
    `gaps`, `tick (rows,)` is when the last record came. Where the chain forgets so slowly that what
    a belief in doubles may be off by depends on it, `predictions (rows,)` counts releases, gaps and
    skips (`belief_radius`). No private value is in the state.

    The claim is about what is drawn: laws are whole numbers of 64-bit words (`integer_law`), made
    for every belief that the exact one may be, so there is no delta and no charge for rounding.

    Raises `ValueError` for an epsilon that is not finite, not positive, above 50 or too small for
    words of 64 bits, for a distance, mode or kernel that do not go together, and, in `step`, for a
    symbol outside 0..n-1 or a belief that is not a distribution.

    >>> from fugu.operators.sip.markov_model import MarkovModel
    >>> model = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.001)
    >>> crr = ConditionalRandomizedResponse(model, epsilon=1.0)
    >>> crr.release_law(crr.start(1))[0].round(3).tolist()
    [[0.816, 0.184], [0.184, 0.816]]

    Source: Jiang, Li, Tandon 2024, Definitions 1-2, Theorem 1, Algorithm 1 and equation 13. The
    paper's Theorem 4 is not private for beliefs below 1/(e^eps + 1); it is replaced by the repair
    theorem of `release_law` with the kernels of `kernels` (SIP specification sections 2 to 5).
    """

    model: Chain
    epsilon: float
    distance: Distance = HAMMING
    mode: Mode = "optimal"
    kernel: Search = "heuristic"
    gaps: Gaps | None = None

    kind: ClassVar[str] = "crr"
    implementation: ClassVar[int] = 3
    sampling: ClassVar[tuple[str | int, ...]] = FORMAT
    """Tell in digests how laws are made and drawn."""

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        check_words(self.bound, self._chosen, self.model.symbols)

    def start(self, rows: int) -> State:
        return {
            **({} if self.gaps is None else self.gaps.start(rows)),
            "belief": np.tile(self.model.start, (rows, 1)),
            **self.radius.start(rows),
            "releases": np.zeros(rows, dtype=np.int64),
            "spent": np.zeros(rows, dtype=np.int64),
            "history": np.zeros(rows, dtype=np.uint64),
        }

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        symbols = checked_symbols(inputs, self.model.symbols)
        law = self._law_to_step(state)
        words = draws.words("release", bound_to(self._bindings, symbols, state["history"]))
        released = law.draw(symbols, words[:, 0, 0])
        after, posterior = self._after_release(state, law, released)
        confidence = posterior[released, np.arange(len(released))]
        return after, Releases(released, {"confidence": confidence})

    def observe(self, state: State, released: Integers) -> tuple[State, Floats]:
        law = self._law_at(state)
        after, posterior = self._after_release(state, law, released)
        return after, posterior.T

    def told(self, state: State, likelihood: Floats, released: Integers) -> State:
        """Return the state after a release by another law, which is evidence all the same.

        `likelihood (n, rows)` is P(released given x). Nothing is spent by this law.
        """
        belief = np.ascontiguousarray(state["belief"].T)
        posterior = normalised(self.model.marginal(belief) * likelihood)
        return {
            **state,
            "belief": np.ascontiguousarray(self.model.advance(belief, posterior).T),
            **self.radius.after(state),
            "releases": state["releases"] + 1,
            "history": extended(state["history"], released + 1),
        }

    @property
    def tick_milliseconds(self) -> int | None:
        return None if self.gaps is None else self.gaps.step_milliseconds

    def elapse(self, state: State, ticks: Integers) -> State:
        if self.gaps is None:
            return state
        return self.gaps.elapse(self.model, self.radius, state, ticks)

    @property
    def outcomes(self) -> tuple[int, int]:
        return self.model.symbols, self.model.symbols

    def release_law(self, state: State) -> Floats:
        law = self._law_at(state)
        truths = np.indices((self.model.symbols, len(state["belief"])))[0]
        return np.stack([law.probabilities(truth).T for truth in truths], axis=1)

    def next_charge(self, state: State) -> Integers:
        return self._law_at(state).charge

    @property
    def largest_charge(self) -> int:
        return self.bound.charge

    @cached_property
    def constant(self) -> int:
        return int(np.argmax(self.model.prior))

    def law(self, belief: Floats, doubt: Floats | None = None) -> SymbolLaw:
        """Return the release law a(y|x) for beliefs `(n, rows)`: public, since beliefs are.

        `doubt` is what each of them may be off by (`belief_radius`), at first if it is left out.
        """
        if doubt is None:
            doubt = np.full(belief.shape[1], self.doubts[0])
        return private_law(belief, self._chosen.propose(belief), self.bound, doubt)

    @cached_property
    def bound(self) -> PrivacyBound:
        """Return what epsilon allows."""
        return PrivacyBound.of(self.epsilon)

    def guarantees(self) -> tuple[Guarantee, ...]:
        promised = crr_guarantees(epsilon=self.epsilon)
        return promised if self.gaps is None else with_gaps(promised, self.gaps)

    def audit(self) -> Mapping[str, object]:
        """Return the law of the first release, and how far a belief may be from the exact one.

        The whole law is there for alphabets of up to 32 symbols.
        """
        law = self.law(self.model.prior[:, None])
        rows, accuracy, distance = [], 0.0, 0.0
        far = (
            self.distance.table(self.model.symbols) if self.model.symbols <= LARGEST_SHOWN else None
        )
        for x, probability in enumerate(self.model.prior.tolist()):
            row = law.probabilities(np.array([x]))[:, 0]
            accuracy += probability * float(row[x])
            if far is not None:
                rows.append(row.tolist())
                distance += probability * float((row * far[x]).sum())
        return {
            "first release: probabilities (row = truth, column = released)": rows or None,
            "first release: expected accuracy": accuracy,
            "first release: expected distance": None if far is None else distance,
            "first release: actual leakage in nats": float(law.leakage[0]),
            "distance of a belief in doubles from the exact one, at most": (
                self.radius.most if isfinite(self.radius.most) else None
            ),
        }

    def law_digest(self) -> bytes:
        return binding_digest(
            self.kind,
            self.implementation,
            float(self.epsilon).hex(),
            *self.model.identity(),
            *self._chosen.identity(),
            *(() if self.gaps is None else self.gaps.identity()),
            *self.sampling,
        )

    @cached_property
    def _gain(self) -> float:
        return exact_expm1(self.epsilon)

    @cached_property
    def _growth(self) -> float:
        return exact_exp(self.epsilon)

    @cached_property
    def _chosen(self) -> Kernel:
        symbols = self.model.symbols
        return choose_kernel(
            self.distance, self.mode, self.kernel, symbols, self._gain, self._growth
        )

    @cached_property
    def _compiled(self) -> "CompiledStep | None":
        own = type(self) is ConditionalRandomizedResponse and self.gaps is None
        if not own or not has_compiled_law(self._chosen) or not has_compiled_prediction(self.model):
            return None
        from fugu.operators.sip.compiled_steps import CompiledStep

        full_support = self.mode == "full_support"
        return CompiledStep.of(self.model, self.bound, self.doubts, full_support, self._bindings)

    def _law_at(self, state: State) -> SymbolLaw:
        return self.law(self._believed(state), self._doubt(state))

    def _law_to_step(self, state: State) -> "SymbolLaw | CompiledLaw":
        """Return the same bits, compiled where the law is and the step is not."""
        own = type(self) is ConditionalRandomizedResponse
        if self.runs or not own or not has_compiled_law(self._chosen):
            return self._law_at(state)
        from fugu.operators.sip.compiled_law import CompiledLaw

        full_support = self.mode == "full_support"
        return CompiledLaw(self._believed(state), self.bound, self._doubt(state), full_support)

    def _believed(self, state: State) -> Floats:
        return self.model.marginal(checked_belief(state["belief"]))

    def _after_release(
        self, state: State, law: "SymbolLaw | CompiledLaw", released: Integers
    ) -> tuple[State, Floats]:
        posterior = law.posterior(released)
        belief = self.model.advance(np.ascontiguousarray(state["belief"].T), posterior)
        after: State = {
            **({} if self.gaps is None else self.gaps.kept(state)),
            "belief": np.ascontiguousarray(belief.T),
            **self.radius.after(state),
            "releases": state["releases"] + 1,
            "spent": add_spent(state["spent"], law.charge),
            "history": extended(state["history"], released + 1),
        }
        return after, posterior


__all__ = ["MarkovModel", "PaperConditionalRandomizedResponse"]

_NO_PROOF = Point("refuted", "SIP specification, section 2, shows the claim of the paper to fail")


@dataclass(frozen=True, eq=False)
class PaperConditionalRandomizedResponse(ConditionalRandomizedResponse):
    """Release as the paper says: a labelled baseline that breaks its promise.

    It is the identity proposal without repair: m = b = beta.

        a(y|x) = beta(y) e^-eps for y != x        a(x|x) = 1 - (1 - beta(x)) e^-eps

    Claim. None that holds. It is epsilon-private only if the smallest belief is at least 1/(e^eps +
    1); otherwise its leakage is max(eps, ln[(1 - e^-eps)/beta_min + e^-eps]), without bound. It is
    here to be compared with, reports the leakage it really has, and is refused unless a pipeline
    says `accept_unsound: true`.

    Parameters: `model` and `epsilon` of `conditional_randomized_response`, and the same input,
    release and state.

    >>> import numpy as np
    >>> uniform = MarkovModel.smoothed([0.1] * 10, [[0.1] * 10] * 10, smoothing=0.0)
    >>> baseline = PaperConditionalRandomizedResponse(uniform, epsilon=1.0)
    >>> round(float(np.log(baseline.law(uniform.prior[:, None]).leakage_ratio[0])), 3)
    1.9

    Source: Jiang, Li, Tandon 2024, Theorem 4 and Algorithm 1; SIP specification section 2. (The
    printed Theorem 4 has beta(x) off the diagonal, and its rows do not sum to 1; Algorithm 1 has
    beta(y).)
    """

    kind: ClassVar[str] = "paper_crr"
    sampling: ClassVar[tuple[str | int, ...]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.distance, self.mode, self.kernel) != (HAMMING, "optimal", "heuristic"):
            raise ValueError("paper_crr: has no distance, mode or kernel to choose; leave them out")

    def law(self, belief: Floats, doubt: Floats | None = None) -> ReleaseLaw:
        """Return a(y|x) of the paper, in doubles: the unrepaired member of the family."""
        identity = IdentityKernel().propose(belief)
        marginal = identity.marginal(belief)
        largest = identity.largest()
        return ReleaseLaw(belief, identity, self._gain, marginal, largest, mass=marginal)

    @cached_property
    def largest_charge(self) -> int:
        """Return a charge above every budget: nothing bounds it."""
        return 2 * LARGEST_CHARGE

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Promise nothing."""
        claimed = super().guarantees()[0]
        return (
            replace(
                claimed,
                epsilon=inf,
                sound=False,
                proof=_NO_PROOF,
            ),
        )
