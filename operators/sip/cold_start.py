"""Conditional randomized response for streams without a model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from fugu.operators.budget_units import add_spent, exact_exp, exact_expm1, in_nats
from fugu.operators.columns import Bytes, binding_digest
from fugu.operators.digests import extended
from fugu.operators.guarantee import Guarantee
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
)
from fugu.operators.multi_step import joined_runs, run_in_rounds
from fugu.operators.randomness import KeyedDraws
from fugu.operators.responses.randomized_response import Odds
from fugu.operators.sip.distances import HAMMING, Distance
from fugu.operators.sip.guarantees import cold_start_guarantees
from fugu.operators.sip.inputs import bound_to, checked_belief, checked_symbols, digest_table
from fugu.operators.sip.integer_law import FORMAT
from fugu.operators.sip.kernels import (
    PrivateLaw,
    check_words,
    choose_kernel,
    has_compiled_law,
    private_law,
)
from fugu.operators.sip.privacy_bound import PrivacyBound, Radius
from fugu.operators.sip.proposals import Kernel, Mask
from fugu.operators.sip.stream_learning import StreamLearning, checked_positions, enough_positions
from fugu.operators.whole_numbers import take_whole_numbers

if TYPE_CHECKING:
    from fugu.operators.sip.compiled_law import CompiledLaw
    from fugu.operators.sip.compiled_steps import CompiledColdStep

LARGEST_ALPHABET = 16
WhenShort = Literal["refuse", "accept"]


@dataclass(frozen=True, eq=False)
class ColdStart(ChargingRunningMechanism, EnumerableMechanism):
    """Release without a model at first, learn one for each stream from releases, and freeze it.

    The first `positions` of a stream are released by generalized randomized response (GRR), which
    needs no model. From these releases, and nothing else, a Markov chain is then learned
    (`stream_model`); the belief is what the chain says about the next position after all of them;
    and from there on the stream is released by bounded conditional randomized response (CRR) under
    that chain, which never changes again.

    Claim. It has two parts. (1) *Relative to the learned model*, every release leaks at most
    `epsilon` nats, and all leakages add up: GRR leaks no more under any prior, and the belief of
    CRR is the exact posterior under one model. Nobody can hold that model before the stream begins,
    so this is a statement about an adversary who comes to believe in it. (2) *For any prior or
    correlation*, every one of the first releases leaks at most epsilon, and every later one at most
    2 epsilon. A model that went on learning would leave only the second part, which is why it is
    frozen.

    Parameters: `symbols`, n from 2 to 16, because n^2 probabilities are learned and kept per
    stream; `epsilon` in nats, 0 < epsilon <= 50; `alpha`, above 0, added to the counts as n^2 equal
    parts; `positions`, by default `enough_positions`, 50 n^2 / (p - q)^4. Fewer learn mostly noise,
    and are refused unless `when_short` is "accept". Positions that a budget skips are counted, and
    learned from as gaps. `distance` is what an error costs once there is a model, as in conditional
    randomized response.

    Input: symbol indices `(rows,)`, 0..n-1. Release: symbol indices `(rows,)`, annotated with
    `confidence`, the probability that the released symbol is the true one given all releases; NaN
    while there is no model.

    State: the columns of `stream_learning`; `spent (rows,)`; and `history (rows,)`, a digest of
    what was released, to which draws are bound. No private value is in it. A row takes 8 n^2 + 8 n
    + 32 bytes at most, and one byte for each of the first positions, which the belief under a model
    that is known only afterwards cannot do without: it depends on the order of all of them.

    Raises `ValueError` for parameters out of bounds, and, in `step`, for a symbol outside 0..n-1 or
    a belief that is not a distribution.

    >>> cold = ColdStart(symbols=2, epsilon=1.0, positions=3, when_short="accept")
    >>> cold.release_law(cold.start(1))[0].round(3).tolist(), cold.enough_positions
    ([[0.731, 0.269], [0.269, 0.731]], 4386)

    Source: SIP specification, section 6 (cold start; Jiang, Li, Tandon 2024, VIII) and section 9
    (GRR).
    """

    symbols: int
    epsilon: float
    positions: int = 0
    alpha: float = 1.0
    when_short: WhenShort = "refuse"
    distance: Distance = HAMMING
    odds: Odds = field(init=False, repr=False)

    kind: ClassVar[str] = "cold_start_crr"
    implementation: ClassVar[int] = 2

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if not 2 <= self.symbols <= LARGEST_ALPHABET:
            raise ValueError(
                f"symbols: must be 2 to {LARGEST_ALPHABET}, not {self.symbols}: every stream keeps "
                "a square of so many probabilities, more of which its own noisy releases could not "
                "settle; declare a model (crr), or release without one (grr)"
            )
        object.__setattr__(self, "odds", Odds.of(self.symbols - 1, self.epsilon))
        check_words(self.bound, self._kernel, self.symbols)
        if not isfinite(self.alpha) or self.alpha <= 0.0:
            raise ValueError(f"alpha: must be a number above 0, not {self.alpha}")
        if self.when_short not in get_args(WhenShort):
            raise ValueError(f"when_short: must be one of {', '.join(get_args(WhenShort))}")
        accepted = self.when_short == "accept"
        given = self.symbols, self.positions, self.odds, self.epsilon
        object.__setattr__(self, "positions", checked_positions(*given, short_too=accepted))

    @property
    def enough_positions(self) -> int:
        """Return how many positions are enough to learn from."""
        return enough_positions(self.symbols, self.odds)

    def start(self, rows: int) -> State:
        return {
            **self.learning.start(rows),
            "spent": np.zeros(rows, dtype=np.int64),
            "history": np.zeros(rows, dtype=np.uint64),
        }

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        symbols = checked_symbols(inputs, self.symbols)
        word = draws.words("release", bound_to(self._bindings, symbols, state["history"]))[:, 0, 0]
        released = self.odds.answer(symbols, word)
        warm = self.learning.warm(state)
        law = self._law_to_step(state, warm)
        released[warm] = law.draw(symbols[warm], word[warm])
        after, posterior = self._after_release(state, law, released)
        confidence = posterior[released, np.arange(len(released))]
        return after, Releases(released, {"confidence": confidence})

    def observe(self, state: State, released: Integers) -> tuple[State, Floats]:
        """Return P(truth | releases so far), `(rows, n)`, after one release per row.

        NaN while there is no model. It needs the releases, nothing else.
        """
        law = self._law_to_step(state, self.learning.warm(state))
        after, posterior = self._after_release(state, law, released)
        return after, posterior.T

    @property
    def runs(self) -> bool:
        return self._compiled is not None

    def run(
        self, state: State, rows: Integers, inputs: Inputs, draws: Draws, total: int | None = None
    ) -> Run:
        """Run compiled, but for streams that may learn their model on the way: in rounds."""
        if self._compiled is None or type(draws) is not KeyedDraws:
            return run_in_rounds(self, state, rows, inputs, draws, total)
        symbols, begun = checked_symbols(inputs, self.symbols), state["begun"]
        ahead = begun + np.bincount(rows, minlength=len(begun))
        learning = (begun < self.positions) & (ahead >= self.positions)
        if not learning.any():
            return self._compiled.run(state, rows, symbols, draws, total)
        some, others = np.flatnonzero(learning[rows]), np.flatnonzero(~learning[rows])
        inputs = Inputs(symbols[some])
        learned = run_in_rounds(self, state, rows[some], inputs, draws.taken(some), total)
        going_on = learned.state, rows[others], symbols[others], draws.taken(others)
        rest = self._compiled.run(*going_on, total)
        return joined_runs([(some, learned), (others, rest)], len(rows))

    @property
    def outcomes(self) -> tuple[int, int]:
        return self.symbols, self.symbols

    def release_law(self, state: State) -> Floats:
        """Return p and q at first, then a(y|x), `(rows, x, y)`."""
        warm = self.learning.warm(state)
        law = self._law(state, warm)
        truth = np.eye(self.symbols, dtype=bool)
        response = np.where(truth, self.odds.likely, self.odds.unlikely)
        laws = np.tile(response, (len(warm), 1, 1))
        for x in range(self.symbols):
            laws[warm, x] = law.probabilities(np.full(int(warm.sum()), x)).T
        return laws

    def follow(self, state: State, released: Integers) -> State:
        return self.observe(state, released)[0]

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]:
        """Leave a gap in what is learned from; later, predict only."""
        warm = self.learning.warm(state)
        belief = np.full((self.symbols, len(warm)), np.nan)
        belief[:, warm] = checked_belief(state["belief"][warm])
        after = self.learning.moved_on(state, warm, belief, np.full(len(warm), self.symbols))
        after["spent"] = state["spent"].copy()
        after["history"] = extended(state["history"], np.zeros(len(warm), dtype=np.int64))
        confidence = belief[instead, np.arange(len(warm))]
        return after, Releases(instead, {"confidence": confidence})

    def next_charge(self, state: State) -> Integers:
        warm = self.learning.warm(state)
        return self._charge(warm, self._law_to_step(state, warm))

    @property
    def largest_charge(self) -> int:
        return self.bound.charge

    @property
    def constant(self) -> int:
        return 0

    def guarantees(self) -> tuple[Guarantee, ...]:
        return cold_start_guarantees(self.epsilon, self.positions)

    def audit(self) -> Mapping[str, object]:
        return {
            "positions before a model is learned": self.positions,
            "positions that are enough to learn from": self.enough_positions,
            "probability that the true symbol is released, before": self.odds.likely,
            "charge per release before, in nats": in_nats(self.odds.charge),
            "distance of a belief in doubles from the exact one, at most": self.radius.most,
            "state per stream in bytes": sum(c.nbytes for c in self.start(1).values()),
        }

    def law_digest(self) -> bytes:
        return binding_digest(
            self.kind,
            self.implementation,
            self.symbols,
            float(self.epsilon).hex(),
            self.positions,
            float(self.alpha).hex(),
            *self._kernel.identity(),
            *FORMAT,
        )

    @cached_property
    def _kernel(self) -> Kernel:
        gain, growth = exact_expm1(self.epsilon), exact_exp(self.epsilon)
        return choose_kernel(self.distance, "optimal", "heuristic", self.symbols, gain, growth)

    @cached_property
    def _bindings(self) -> Bytes:
        return digest_table(range(self.symbols))

    @cached_property
    def _compiled(self) -> "CompiledColdStep | None":
        if not has_compiled_law(self._kernel):
            return None
        from fugu.operators.sip.compiled_steps import CompiledColdStep

        learning = self.positions, self.odds
        return CompiledColdStep.of(self.bound, self.learning.doubts, *learning, self._bindings)

    @cached_property
    def bound(self) -> PrivacyBound:
        """Return what epsilon allows."""
        return PrivacyBound.of(self.epsilon)

    @cached_property
    def learning(self) -> StreamLearning:
        """Return how models are learned, and kept."""
        return StreamLearning(self.symbols, self.positions, self.alpha, self.odds)

    @property
    def radius(self) -> Radius:
        """Return how far beliefs may be from the exact ones."""
        return self.learning.radius

    def _law(self, state: State, warm: Mask) -> PrivateLaw:
        """Return the law of the streams that have a model, one column each."""
        belief, doubt = self.learning.believed(state, warm)
        return private_law(belief, self._kernel.propose(belief), self.bound, doubt)

    def _law_to_step(self, state: State, warm: Mask) -> "PrivateLaw | CompiledLaw":
        """Return the same law, compiled where that is possible."""
        if not has_compiled_law(self._kernel):
            return self._law(state, warm)
        from fugu.operators.sip.compiled_law import CompiledLaw

        belief, doubt = self.learning.believed(state, warm)
        return CompiledLaw(belief, self.bound, doubt)

    def _after_release(
        self, state: State, law: "PrivateLaw | CompiledLaw", released: Integers
    ) -> tuple[State, Floats]:
        warm = self.learning.warm(state)
        posterior = np.full((self.symbols, len(released)), np.nan)
        posterior[:, warm] = law.posterior(released[warm])
        after = self.learning.moved_on(state, warm, posterior, released)
        after["spent"] = add_spent(state["spent"], self._charge(warm, law))
        after["history"] = extended(state["history"], released + 1)
        return after, posterior

    def _charge(self, warm: Mask, law: "PrivateLaw | CompiledLaw") -> Integers:
        charge = np.full(len(warm), self.odds.charge, dtype=np.int64)
        charge[warm] = law.charge
        return charge
