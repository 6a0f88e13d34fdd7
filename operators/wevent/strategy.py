"""Step as all w-event strategies do; a rule says what each tick may spend."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT, in_nats
from fugu.operators.byte_fields import digest_of
from fugu.operators.declared import take_whole_numbers
from fugu.operators.guarantee import CONTRIBUTIONS, Guarantee, Neighbours
from fugu.operators.mechanism import Draws, Inputs, Integers, Releases, State
from fugu.operators.points import Point
from fugu.operators.release_digest import extended
from fugu.operators.wevent.allocation import Booleans, Offer, Rule
from fugu.operators.wevent.cap import Cap
from fugu.operators.wevent.guarantees import window_guarantee
from fugu.operators.wevent.limits import (
    LARGEST_BINS,
    LARGEST_VALUE,
    LARGEST_WINDOW,
    require_length,
    require_size,
    units_below,
    vectors,
)
from fugu.operators.wevent.tick import Tick, digests, kinds_of, standard_errors


@dataclass(frozen=True, eq=False)
class Strategy:
    """Decide with noise whether to publish a vector, and publish it with noise; else repeat.

    A row is an aggregate stream: a vector of integers per tick, which count units. With w for the
    last published vector (at first zeros), a for the true one, L bins, the sensitivity D, and the
    budgets e1 of the decision and e2 of the publication, both from the rule:

        publish if and only if   sum |w_j - a_j| + noise of scale D / e1   >   L D / e2
        published:   a_j + noise of scale D / e2, in every bin

    This is the dissimilarity test, multiplied by L, so that both sides are integers. Noise is
    discrete Laplace noise on the grid of units; e1 and e2 are rounded down to multiples of D for
    it, and for the test. A tick that repeats what was published pays for the decision only. Values
    beyond 2^44, and distances |w_j - a_j| beyond 2^45, are clamped, which brings neighbours no
    farther apart.

    Parameters: `bins`, L; `window` in ticks; `epsilon` in nats for a window; `sensitivity` in
    units: by how much one person's contribution to a tick changes the vector (1 for counts if it
    can only come or go, 2 if it can change the bin); `cap` on a tick, if any; `neighbours` and
    `tick_milliseconds`, for the guarantee alone.
    Input: integers `(rows, bins)`. Release: integers `(rows, bins)`, unbiased, annotated with what
    the tick and the window spent, in nats, and with `standard_error` in units. State: the columns
    of the rule, `released`, `price` and `history`.
    Raises `ValueError` naming the parameter, and, in `step`, for values that are not integers or
    not `(rows, bins)`.
    """

    bins: int
    window: int
    epsilon: float
    sensitivity: int
    cap: Cap | None = None
    neighbours: Neighbours = field(default=CONTRIBUTIONS, kw_only=True)
    tick_milliseconds: int | None = field(default=None, kw_only=True)
    rule: Rule = field(init=False, repr=False)

    kind: ClassVar[str]
    implementation: ClassVar[int] = 1
    rule_class: ClassVar[type[Rule]]
    claim: ClassVar[str]
    """Say how a window keeps to its budget."""
    proof: ClassVar[str]

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        require_size("bins", self.bins, LARGEST_BINS)
        require_size("window", self.window, LARGEST_WINDOW)
        require_size("sensitivity", self.sensitivity, LARGEST_VALUE)
        require_length(self.tick_milliseconds)
        units = units_below(self.epsilon)
        smallest = max(self.sensitivity, -(-units // UNITS_PER_NAT))
        needed = 2 * self.window * smallest
        if units < needed:
            raise ValueError(
                f"epsilon: {self.epsilon:g} nats is too little for this window and sensitivity; "
                f"give at least {in_nats(needed):g} nats"
            )
        if self.cap is not None and min(self.cap.decision, self.cap.publication) < smallest:
            raise ValueError(f"cap: must leave at least {in_nats(smallest):g} nats a tick")
        object.__setattr__(self, "rule", self._rule(units, smallest))

    def _rule(self, epsilon: int, smallest: int) -> Rule:
        return self.rule_class(self.window, epsilon, smallest, self.cap)

    def start(self, rows: int) -> State:
        """Return the state of streams that have published zeros, at no price."""
        return {
            **self.rule.start(rows),
            "released": np.zeros((rows, self.bins), dtype=np.int64),
            "price": np.zeros(rows, dtype=np.int64),
            "history": np.zeros(rows, dtype=np.uint64),
        }

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Publish one tick, or repeat the last publication."""
        values = vectors(inputs.values, self.bins)
        offer = self.offer(state)
        tick = Tick(state, values, draws, self.sensitivity)
        published = self._publishes(tick, offer)
        rows = np.flatnonzero(published)
        noisy = tick.noisy(rows, values[rows], offer.publication, "release")
        after = self.after(state, offer, published, noisy)
        notes = annotations(state, offer, published, after["price"])
        return after, Releases(after["released"].copy(), notes, kinds_of(published))

    def offer(self, state: State) -> Offer:
        """Return what the next tick may cost: a function of earlier releases."""
        return self.rule.offer(state, self._flags(state))

    def after(self, state: State, offer: Offer, published: Booleans, noisy: Integers) -> State:
        """Return the state after a tick, given the noisy vectors of rows that are published."""
        rows = np.flatnonzero(published)
        fresh, learned = self._learn(state, rows, noisy)
        released, price = state["released"].copy(), state["price"].copy()
        released[rows] = fresh
        price[rows] = offer.publication[rows] // self.sensitivity
        return {
            **learned,
            **self.rule.settle(state, offer, published),
            "released": released,
            "price": price,
            "history": extended(state["history"], digests(published, released)),
        }

    def _publishes(self, tick: "Tick", offer: Offer) -> Booleans:
        published = offer.publication > 0
        if not self.rule.decides:
            return published
        rows = np.flatnonzero(published)
        published[rows] = tick.dissimilar(rows, offer)
        return published

    def _flags(self, state: State) -> Booleans:
        """Return for which rows correlation is said to exist: a function of releases."""
        return np.zeros(len(state["tick"]), dtype=bool)

    def _learn(self, state: State, rows: Integers, noisy: Integers) -> tuple[Integers, State]:
        """Return what is published of the noisy vectors of `rows`, and the columns that a strategy
        adds, after that: a function of `noisy` and of earlier releases."""
        return noisy, {}

    @property
    def largest_tick(self) -> int:
        """Return the most units that a tick is charged."""
        rule = self.rule
        return rule.decision + (
            rule.largest if self.cap is None else min(rule.largest, self.cap.publication)
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return w-event differential privacy."""
        return (
            window_guarantee(
                epsilon=self.epsilon,
                window=self.window,
                bins=self.bins,
                draws=int(self.rule.decides) + min(self.neighbours.bins, self.bins),
                sensitivity=self.sensitivity,
                neighbours=self.neighbours,
                tick_milliseconds=self.tick_milliseconds,
                accounting=Point(f"accounting-of-{self.kind}", self.claim),
                not_covered=self._not_covered(),
                proof=Point(f"proof-of-{self.kind}", self.proof),
            ),
        )

    def _not_covered(self) -> tuple[Point, ...]:
        return ()

    def audit(self) -> Mapping[str, object]:
        """Return what ticks and windows are charged, and the error of the first publication."""
        first = self.rule.offer(self.rule.start(1), np.ones(1, dtype=bool))
        publication = int(first.publication[0])
        return {
            "decision of a tick in nats": in_nats(self.rule.decision),
            "first publication in nats, at most": in_nats(publication),
            "charge of a window in nats, at most": in_nats(self.rule.most),
            "standard error of the first publication": float(
                standard_errors(np.array([publication // self.sensitivity]))[0]
            ),
            "cap of a tick in nats": None
            if self.cap is None
            else [in_nats(self.cap.decision), in_nats(self.cap.publication)],
        }

    def law_digest(self) -> bytes:
        """Identify kind, implementation and all parameters."""
        cap = self.cap or Cap(-1, -1)
        return digest_of(
            self.kind,
            self.implementation,
            self.bins,
            self.window,
            self.rule.epsilon,
            self.sensitivity,
            cap.decision,
            cap.publication,
            self._identity(),
        )

    def _identity(self) -> bytes:
        """Encode the parameters that a strategy adds."""
        return b""


def annotations(state: State, offer: Offer, published: Booleans, price: Integers) -> State:
    """Return what is public about a tick, in nats and in units; NaN before any publication."""
    publication = np.where(published, offer.publication, 0)
    spend = state["recent"].sum(axis=1) + offer.decision + publication
    return {
        "published": published.copy(),
        "decision_epsilon": offer.decision / UNITS_PER_NAT,
        "publication_epsilon": publication / UNITS_PER_NAT,
        "window_epsilon": spend / UNITS_PER_NAT,
        "standard_error": standard_errors(price),
    }
