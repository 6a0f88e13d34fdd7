"""Publish a symbol anew or repeat the last release, by a decision that is private."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from fugu.operators.budget_units import add_spent, charge_of_ratio
from fugu.operators.columns import Bytes, binding_digest
from fugu.operators.digests import extended
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import (
    Array,
    Draws,
    Floats,
    Inputs,
    Integers,
    Kind,
    Releases,
    RepeatingMechanism,
    State,
    Words,
)
from fugu.operators.responses.randomized_response import Odds
from fugu.operators.sip.conditional_randomized_response import (
    LARGEST_SHOWN,
    ConditionalRandomizedResponse,
    SymbolReleases,
)
from fugu.operators.sip.distances import HAMMING, Points
from fugu.operators.sip.guarantees import adaptive_guarantees
from fugu.operators.sip.inputs import bound_to, checked_belief, checked_symbols, digest_table
from fugu.operators.sip.integer_law import FORMAT, RATIO_UP
from fugu.operators.sip.kernels import SymbolLaw, has_compiled_prediction
from fugu.operators.sip.markov_model import Chain, normalised, ordered_sum
from fugu.operators.sip.proposals import Mask
from fugu.operators.whole_numbers import take_whole_numbers

if TYPE_CHECKING:
    from fugu.operators.sip.compiled_adaptive_release import CompiledAdaptiveStep


Distance = Literal["symbol", "steps"]
"""Name a distance that needs no points."""


@dataclass(frozen=True, eq=False)
class RepeatDecision:
    """Decide to publish anew or to repeat, itself a release: one bit by randomized response.

    One question per column of `belief`: is the truth one of the symbols that are `near`?

    The bit asks whether the last release is still good enough: is its distance from the truth at
    most the error to be expected of a fresh one? It is answered truthfully with odds of e^epsilon
    to 1, whatever the truth, so it is epsilon-private for every belief; relative to the belief it
    often leaks less, and nothing where the last release is good enough for every symbol.

    Distances are 0 or 1 (`symbol`), of which an expected error is never 1, so that only the last
    symbol itself is good enough for it; or how far apart two symbols are in the alphabet (`steps`),
    or between declared points.

    Everything is `(n, rows)`: symbol first, one column per stream. Source: SIP specification,
    section 9 ("Adaptive SIP").
    """

    belief: Floats
    near: Mask
    odds: Odds

    def chance(self, repeats: bool) -> Floats:
        """Return P(repeat given x), or P(publish anew given x): both as they are drawn, since 1
        less a double near 1 has few digits."""
        return self._likelihood(np.full(self.belief.shape[1], repeats))

    def repeats(self, symbols: Integers, words: Words) -> Mask:
        """Answer for the one x of each column: the first words are those of the truth."""
        truthful = words < np.uint64(self.odds.favoured)
        return np.asarray(truthful == self.near[symbols, np.arange(len(symbols))])

    def posterior(self, repeats: Mask) -> Floats:
        """Return P(x given the answer and everything released before)."""
        return normalised(self.belief * self._likelihood(repeats))

    @property
    def leakage(self) -> Floats:
        """Return the leakage of the answer in nats, relative to the belief as it stands."""
        return np.asarray(np.log(self._ratio(np.zeros(self.belief.shape[1]))))

    def charge(self, doubt: Floats) -> Integers:
        """Return units that cover the leakage of the answer relative to every belief in doubt
        (rho), and not more than its odds, which cover it relative to any belief."""
        ratio = np.where(self.near.all(axis=0), 1.0, self._ratio(doubt) * RATIO_UP)
        return np.minimum(charge_of_ratio(ratio), self.odds.charge)

    def joint(self, law: SymbolLaw, previous: Integers) -> Floats:
        """Return P(y fresh given x), and P(y repeated given x) of the `previous` one, `(rows, x, 2
        n)`; `law` is that of a fresh release."""
        n, rows = self.belief.shape
        is_last = np.arange(n)[:, None] == previous
        joint = np.zeros((rows, n, 2 * n))
        anew, repeated = self.chance(False), self.chance(True)
        for truth in range(n):
            fresh = law.probabilities(np.full(rows, truth))
            joint[:, truth, :n] = (anew[truth] * fresh).T
            joint[:, truth, n:] = np.where(is_last, repeated[truth], 0.0).T
        return joint

    def _ratio(self, doubt: Floats) -> Floats:
        """Return the largest ratio of P(answer given x) and P(answer), either way."""
        worst, known = np.ones(self.belief.shape[1]), np.isfinite(doubt)
        rho = np.where(known, doubt, 0.0)
        for answer in (True, False):
            likelihood = self.chance(answer)
            released = ordered_sum(self.belief * likelihood)
            worst = np.maximum(worst, likelihood.max(axis=0) / (released * (1.0 - rho)))
            worst = np.maximum(worst, released * (1.0 + rho) / likelihood.min(axis=0))
        return np.where(self.near.all(axis=0), 1.0, np.where(known, worst, np.inf))

    def _likelihood(self, repeats: Mask) -> Floats:
        agrees = self.near == repeats
        return np.where(agrees, self.odds.likely, self.odds.unlikely)


def good_enough(
    distance: Distance | Points, symbols: int, previous: Integers, fresh: Callable[[], SymbolLaw]
) -> Mask:
    """Return for which truths the last release is good enough; `fresh` makes the law of another."""
    if distance == "symbol":
        return near(symbols, previous, 0)
    if isinstance(distance, Points):
        return near_points(distance, previous, expected_distance(fresh(), distance))
    return near(symbols, previous, expected_steps(fresh()))


def near_points(points: Points, previous: Integers, within: Floats) -> Mask:
    """Return which symbols are at most so far from the last release, between points."""
    return np.asarray(points.from_each(previous, len(points.coordinates)) <= within)


def expected_distance(law: SymbolLaw, points: Points) -> Floats:
    """Return how far a fresh release is from the truth on average, per column."""
    expected = np.zeros(law.belief.shape[1])
    for symbol in range(len(law.belief)):
        probabilities = law.probabilities(np.full(len(expected), symbol))
        apart = points.to(points.coordinates[symbol])[:, None]
        expected = expected + law.belief[symbol] * ordered_sum(probabilities * apart)
    return expected


def near(symbols: int, previous: Integers, within: Floats | int) -> Mask:
    """Return which symbols are at most so many steps from the last release."""
    apart = np.abs(np.arange(symbols)[:, None] - previous)
    return np.asarray(apart <= within)


def expected_steps(law: SymbolLaw) -> Floats:
    """Return E|x - y| of a fresh release, per column: n rows of the law, one after the other."""
    symbols = np.arange(len(law.belief))
    expected = np.zeros(law.belief.shape[1])
    for symbol in symbols:
        probabilities = law.probabilities(np.full(len(expected), symbol))
        apart = np.abs(symbols - symbol)[:, None]
        expected = expected + law.belief[symbol] * ordered_sum(probabilities * apart)
    return expected


@dataclass(frozen=True, eq=False)
class AdaptiveRelease(SymbolReleases, RepeatingMechanism):
    """Publish a symbol anew where the last release has become wrong, else repeat it.

    Every position has one bit, by randomized response with `decision_epsilon`: is the last release
    still good enough (`repeat_decision`)? The bit corrects the belief. If it says no, a symbol is
    released by bounded conditional randomized response with `release_epsilon`, under the corrected
    belief; if it says yes, the last release is published again, which costs nothing more.

    Claim. The bit and the release are two releases of one position. Each leaks at most its epsilon
    relative to the declared model, whatever was released before, and all leakages add up (Theorem
    1), so a stream that spent E nats satisfies Sequence Information Privacy (SIP) with E relative
    to the model, and 2 E for *any* prior or correlation. One position alone is then
    (decision_epsilon + 2 release_epsilon)-private. Charged is what the bit really leaks, and what
    the release really leaks where there is one. **The bit is visible**: a repeated release says
    that the answer was yes, a fresh one that it was no. That is why it is noisy, charged, and part
    of the belief: a belief that leaves it out is not the posterior, and Theorem 1 breaks.

    Parameters: `model`, a chain over n symbols that gives every one of them a chance at any time;
    `decision_epsilon` and `release_epsilon` in nats, both above 0 and at most 50; `distance`:
    `symbol` (right or wrong), `steps` (how far apart in the alphabet) or `Points(coordinates)`,
    between which fresh releases are made to be near, too. Both epsilons are fixed, so what a
    position may cost is a function of public data; a `Budgeted` total or window bounds the sum.

    Input: symbol indices `(rows,)`, 0..n-1. Release: symbol indices `(rows,)` of kind FRESH or
    REPEATED, annotated with `confidence`, the probability that the published symbol is the true one
    given everything published. Before anything was released, the last release is the most likely
    first symbol.

    State: `belief (rows, states of the chain)`, `previous (rows,)`, `spent (rows,)`, and `history
    (rows,)`, a digest of what was published, to which draws are bound; `predictions (rows,)` where
    they are counted (`belief_radius`). In audits release y is number y if it is fresh and n + y if
    it is repeated. No private value is in the state.

    Raises `ValueError` for an epsilon that is not finite, not positive or above 50, and, in `step`,
    for a symbol outside 0..n-1 or a belief that is not a distribution.

    >>> from fugu.operators.sip.markov_model import MarkovModel
    >>> model = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.001)
    >>> adaptive = AdaptiveRelease(model, decision_epsilon=2.0, release_epsilon=1.0)
    >>> adaptive.release_law(adaptive.start(1))[0].round(3).tolist()
    [[0.0, 0.119, 0.881, 0.0], [0.0, 0.881, 0.119, 0.0]]

    Source: SIP specification, section 9 ("Adaptive SIP", from Jiang, Li, Tandon 2024, VI-B1) and
    section 7 (budgets that follow past releases).
    """

    model: Chain
    decision_epsilon: float
    release_epsilon: float
    distance: Distance | Points = "symbol"

    kind: ClassVar[str] = "adaptive_crr"
    implementation: ClassVar[int] = 2
    extra_roundings: ClassVar[int] = 8
    """Roundings of correcting a belief by an answer, too."""

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        for part, needed in (("decision", "_odds"), ("release", "_fresh")):
            try:
                getattr(self, needed)
            except ValueError as error:
                raise ValueError(f"{part}_{error}") from None
        if not isinstance(self.distance, Points) and self.distance not in get_args(Distance):
            named = ", ".join(get_args(Distance))
            raise ValueError(f"distance: must be one of {named}, or points")

    def start(self, rows: int) -> State:
        return {
            "belief": np.tile(self.model.start, (rows, 1)),
            **self.radius.start(rows),
            "previous": np.full(rows, self.constant, dtype=np.int64),
            "spent": np.zeros(rows, dtype=np.int64),
            "history": np.zeros(rows, dtype=np.uint64),
        }

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        symbols = checked_symbols(inputs, self.model.symbols)
        decision = self._decision(state)
        is_near = decision.near[symbols, np.arange(len(symbols))].astype(np.int64)
        word = draws.words("decision", bound_to(self._answers, is_near, state["history"]))
        repeats = decision.repeats(symbols, word[:, 0, 0])
        law = self._law_after(state, decision, repeats)
        word = draws.words("release", bound_to(self._bindings, symbols, state["history"]))
        fresh = law.draw(symbols, word[:, 0, 0])
        released = np.where(repeats, state["previous"], fresh)
        after, posterior = self._after_release(state, decision, law, repeats, released)
        confidence = posterior[released, np.arange(len(released))]
        kinds = np.where(repeats, Kind.REPEATED, Kind.FRESH)
        return after, Releases(released, {"confidence": confidence}, kinds)

    def observe(self, state: State, released: Integers) -> tuple[State, Floats]:
        """Return P(truth | releases so far), `(rows, n)`, after one release per row.

        `released` are numbers of releases: y of a fresh one, n + y of a repeated one. It needs the
        model and the releases, nothing else; its state is the state of `step`.
        """
        again, values = np.divmod(released, self.model.symbols)
        repeats: Mask = again > 0
        decision = self._decision(state)
        law = self._law_after(state, decision, repeats)
        after, posterior = self._after_release(state, decision, law, repeats, values)
        return after, posterior.T

    @property
    def outcomes(self) -> tuple[int, int]:
        return self.model.symbols, 2 * self.model.symbols

    def outcome_of(self, releases: Releases) -> Integers:
        """Return y for a fresh release, and n + y for a repeated one."""
        values = releases.values
        again = Kind.FRESH if releases.kinds is None else releases.kinds
        return np.where(np.equal(again, Kind.FRESH), values, values + self.model.symbols)

    def published(self, outcomes: Integers) -> Releases:
        repeats, values = np.divmod(outcomes, self.model.symbols)
        return Releases(values, kinds=np.where(repeats > 0, Kind.REPEATED, Kind.FRESH))

    def release_law(self, state: State) -> Floats:
        """Return P(bit given x), times a(y|x) for a fresh release, `(rows, x, 2 n)`."""
        decision = self._decision(state)
        publishes = np.zeros(len(state["previous"]), dtype=bool)
        law = self._law_after(state, decision, publishes)
        return decision.joint(law, state["previous"])

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]:
        """Predict only: no bit is asked, and `instead` is what the next one will be about."""
        after, releases = super().skip(state, instead)
        return {**after, "previous": instead.astype(np.int64)}, releases

    def next_charge(self, state: State) -> Integers:
        decision = self._decision(state)
        publishes = np.zeros(len(state["spent"]), dtype=bool)
        law = self._law_after(state, decision, publishes)
        return self._charge(state, decision, law, publishes)

    @property
    def largest_charge(self) -> int:
        return self._odds.charge + self._fresh.largest_charge

    @property
    def constant(self) -> int:
        return self._fresh.constant

    def guarantees(self) -> tuple[Guarantee, ...]:
        return adaptive_guarantees(self.decision_epsilon, self.release_epsilon)

    def audit(self) -> Mapping[str, object]:
        """Return the law of the first position, and what its bit and its release leak.

        The whole law is there for alphabets of up to 32 symbols.
        """
        state = self.start(1)
        decision = self._decision(state)
        publishes = np.zeros(1, dtype=bool)
        law = self._law_after(state, decision, publishes)
        bit = float(decision.leakage[0])
        small = self.model.symbols <= LARGEST_SHOWN
        return {
            "first position: probabilities (row = truth, column = released, then repeated)": (
                self.release_law(state)[0].tolist() if small else None
            ),
            "first position: probability of a repeated release": float(
                (decision.belief * decision.chance(repeats=True)).sum()
            ),
            "first position: actual leakage of the bit in nats": bit,
            "first position: actual leakage with a fresh release in nats": (
                bit + float(law.leakage[0])
            ),
            "one position to anybody, at most, in nats": (
                self.decision_epsilon + 2.0 * self.release_epsilon
            ),
        }

    def law_digest(self) -> bytes:
        return binding_digest(
            self.kind,
            self.implementation,
            float(self.decision_epsilon).hex(),
            float(self.release_epsilon).hex(),
            *(self.distance.identity() if isinstance(self.distance, Points) else (self.distance,)),
            *self.model.identity(),
            *FORMAT,
        )

    def _law_after(self, state: State, decision: RepeatDecision, repeats: Mask) -> SymbolLaw:
        """Return the law of a fresh release, at the belief after the answer."""
        return self._fresh.law(decision.posterior(repeats), self._doubt(state))

    @cached_property
    def _fresh(self) -> ConditionalRandomizedResponse:
        apart = self.distance if isinstance(self.distance, Points) else HAMMING
        return ConditionalRandomizedResponse(self.model, self.release_epsilon, apart)

    @cached_property
    def _compiled(self) -> "CompiledAdaptiveStep | None":
        own = type(self) is AdaptiveRelease and not isinstance(self.distance, Points)
        if not own or not has_compiled_prediction(self.model):
            return None
        from fugu.operators.sip.compiled_adaptive_release import CompiledAdaptiveStep

        bound, counts_steps = self._fresh.bound, self.distance == "steps"
        digests = self._answers, self._bindings
        return CompiledAdaptiveStep.of(
            self.model, self._odds, bound, self.doubts, counts_steps, *digests
        )

    @cached_property
    def _odds(self) -> Odds:
        return Odds.of(others=1, epsilon=self.decision_epsilon)

    @cached_property
    def _answers(self) -> Bytes:
        return digest_table(["far", "near"])

    def _decision(self, state: State) -> RepeatDecision:
        belief = self.model.marginal(checked_belief(state["belief"]))
        return RepeatDecision(belief, self._near(state, belief), self._odds)

    def _near(self, state: State, belief: Floats) -> Mask:
        """Return for which truths the last release is good enough."""

        def fresh() -> SymbolLaw:
            return self._fresh.law(belief, self._doubt(state))

        return good_enough(self.distance, len(belief), state["previous"], fresh)

    def _after_release(
        self,
        state: State,
        decision: RepeatDecision,
        law: SymbolLaw,
        repeats: Mask,
        released: Integers,
    ) -> tuple[State, Floats]:
        releasable = np.where(repeats, law.belief.argmax(axis=0), released)
        posterior = np.where(repeats, law.belief, law.posterior(releasable))
        belief = self.model.advance(np.ascontiguousarray(state["belief"].T), posterior)
        event = np.where(repeats, self.model.symbols, released) + 1
        after: State = {
            "belief": np.ascontiguousarray(belief.T),
            **self.radius.after(state),
            "previous": released.copy(),
            "spent": add_spent(state["spent"], self._charge(state, decision, law, repeats)),
            "history": extended(state["history"], event),
        }
        return after, posterior

    def _charge(
        self, state: State, decision: RepeatDecision, law: SymbolLaw, repeats: Mask
    ) -> Integers:
        return decision.charge(self._doubt(state)) + np.where(repeats, 0, law.charge)
