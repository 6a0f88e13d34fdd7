"""What all w-event strategies share: decide with noise whether to publish, publish with noise.

A row is an aggregate stream: a vector of integers per tick, which count units. Every tick runs. The
last published vector (at first zeros) is w, the true one is a, L is the number of bins, and D the
`sensitivity`. With e1 for the decision and e2 for the publication, both from the rule:

    publish if and only if   sum |w_j - a_j| + noise of scale D / e1   >   L D / e2
    published:   a_j + noise of scale D / e2, in every bin

which is the dissimilarity test, multiplied by L, so that both sides are integers. Noise is discrete
Laplace noise on the grid of units; e1 and e2 are rounded down to multiples of D for it, and for the
test. A tick that repeats what was published pays for the decision only.

Values beyond 2^44, and distances |w_j - a_j| beyond 2^45, are clamped, which brings neighbours no
farther apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import blake2b
from math import isfinite
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT, in_nats
from fugu.operators.byte_fields import binding_digest, encode_fields
from fugu.operators.declared import take_whole_numbers
from fugu.operators.guarantee import CONTRIBUTIONS, Guarantee, Neighbours
from fugu.operators.mechanism import (
    Array,
    Draws,
    Floats,
    Inputs,
    Integers,
    Kind,
    Releases,
    State,
)
from fugu.operators.noise.grid import counted
from fugu.operators.noise.unit_laplace import WORDS_PER_DRAW, sample
from fugu.operators.randomness import draws_of
from fugu.operators.release_digest import extended
from fugu.operators.wevent.allocation import Booleans, Offer, Rule, window_spend
from fugu.operators.wevent.cap import Cap
from fugu.operators.wevent.guarantees import window_guarantee

LARGEST_BINS = 2**17
LARGEST_WINDOW = 100_000
LARGEST_EPSILON = 20.0
LARGEST_VALUE = 2**44
LARGEST_DISTANCE = 2**45
"""Over all bins distances sum to 2^62 at most, which leaves room in 64 bits for noise: 2^46."""


@dataclass(frozen=True, eq=False)
class Strategy:
    """A w-event strategy; see the module. `epsilon` is in nats, `sensitivity` in units. What
    `neighbours` may differ in, and how long a tick is in time, are for the guarantee alone.

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
    """How its budgets add up, in words."""
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
        """Zeros count as published, at no price."""
        return {
            **self.rule.start(rows),
            "released": np.zeros((rows, self.bins), dtype=np.int64),
            "price": np.zeros(rows, dtype=np.int64),
            "history": np.zeros(rows, dtype=np.uint64),
        }

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """One tick: what was published, or the last publication again."""
        values = vectors(inputs.values, self.bins)
        offer = self.rule.offer(state, self._flags(state))
        tick = Tick(state, values, draws, self.sensitivity)
        published = self._publishes(tick, offer)
        rows = np.flatnonzero(published)
        noisy = tick.noisy(rows, values[rows], offer.publication, "release")
        fresh, learned = self._learn(state, rows, noisy)
        released, price = state["released"].copy(), state["price"].copy()
        released[rows] = fresh
        price[rows] = offer.publication[rows] // self.sensitivity
        after: State = {
            **learned,
            **self.rule.settle(state, offer, published),
            "released": released,
            "price": price,
            "history": extended(state["history"], digests(published, released)),
        }
        notes = annotations(state, offer, published, price)
        return after, Releases(released.copy(), notes, kinds_of(published))

    def _publishes(self, tick: "Tick", offer: Offer) -> Booleans:
        """The dissimilarity test, where something can be published."""
        published = offer.publication > 0
        if not self.rule.decides:
            return published
        rows = np.flatnonzero(published)
        published[rows] = tick.dissimilar(rows, offer)
        return published

    def _flags(self, state: State) -> Booleans:
        """For which rows correlation is said to exist: a function of releases."""
        return np.zeros(len(state["tick"]), dtype=bool)

    def _learn(self, state: State, rows: Integers, noisy: Integers) -> tuple[Integers, State]:
        """What is published of the noisy vectors of `rows`, and the columns that a strategy adds,
        after that: a function of `noisy` and of earlier releases."""
        return noisy, {}

    @property
    def largest_tick(self) -> int:
        """No tick is charged more units than this."""
        rule = self.rule
        return rule.decision + (
            rule.largest if self.cap is None else min(rule.largest, self.cap.publication)
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """w-event differential privacy."""
        return (
            window_guarantee(
                epsilon=self.epsilon,
                window=self.window,
                bins=self.bins,
                draws=int(self.rule.decides) + min(self.neighbours.bins, self.bins),
                sensitivity=self.sensitivity,
                neighbours=self.neighbours,
                tick_milliseconds=self.tick_milliseconds,
                composition=self.claim,
                not_covered=self._not_covered(),
                proof=self.proof,
            ),
        )

    def _not_covered(self) -> tuple[str, ...]:
        return ()

    def audit(self) -> Mapping[str, object]:
        """What ticks and windows are charged."""
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
        """Identifies kind, implementation and all parameters."""
        cap = self.cap or Cap(-1, -1)
        content = encode_fields(
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
        return blake2b(content, digest_size=32).digest()

    def _identity(self) -> bytes:
        """Of the parameters that a strategy adds."""
        return b""


@dataclass(frozen=True)
class Tick:
    """Where noise is drawn: a tick of all rows, with their true vectors; `sensitivity` is that of
    every row, or one for all."""

    state: State
    values: Integers
    draws: Draws
    sensitivity: int | Integers

    def noisy(self, rows: Integers, numbers: Integers, budgets: Integers, purpose: str) -> Integers:
        """`numbers (len(rows), coordinates)` with noise; a draw is bound to the true vector, to
        the budget, and to everything released before. `budgets` are those of all rows."""
        if not len(rows):
            return numbers
        charged, sensitivity = budgets[rows], self._sensitivity(rows)
        bindings = [
            binding_digest(vector.tobytes(), history, budget, units)
            for vector, history, budget, units in zip(
                self.values[rows].astype(">i8"),
                self.state["history"][rows].view(np.int64).tolist(),
                charged.tolist(),
                sensitivity.tolist(),
                strict=True,
            )
        ]
        words = draws_of(self.draws, rows, len(self.values)).words(
            purpose, bindings, coordinates=numbers.shape[1], count=WORDS_PER_DRAW
        )
        return numbers + sample(words, (charged // sensitivity)[:, None])

    def dissimilar(self, rows: Integers, offer: Offer) -> Booleans:
        """The dissimilarity test, for rows to which a publication is offered."""
        distances = np.abs(self.state["released"][rows] - self.values[rows])
        apart = np.minimum(distances, LARGEST_DISTANCE).sum(axis=1)
        noisy = self.noisy(rows, apart[:, None], offer.decision, "dissimilarity")[:, 0]
        price = offer.publication[rows] // self._sensitivity(rows)
        return np.asarray(noisy > (self.values.shape[1] << 40) // price)

    def _sensitivity(self, rows: Integers) -> Integers:
        return np.broadcast_to(self.sensitivity, len(self.values))[rows]


def vectors(values: Array, bins: int) -> Integers:
    """Integers `(rows, bins)`, clamped to what sums can take."""
    if values.ndim != 2 or values.shape[1] != bins:
        raise ValueError(f"values must be vectors of {bins} bins, not of shape {values.shape[1:]}")
    return np.clip(counted(values), -LARGEST_VALUE, LARGEST_VALUE)


def digests(published: Booleans, released: Integers) -> Integers:
    """One event for the history of each row: 0 where nothing is new."""
    events = np.zeros(len(published), dtype=np.int64)
    for row in np.flatnonzero(published):
        digest = blake2b(released[row].astype(">i8").tobytes(), digest_size=8).digest()
        events[row] = int.from_bytes(digest, "big", signed=True)
    return events


def annotations(state: State, offer: Offer, published: Booleans, price: Integers) -> State:
    """What everybody may know about a tick, in nats and in units; NaN before any publication."""
    publication = np.where(published, offer.publication, 0)
    spend = window_spend(state, offer.decision + publication)
    return {
        "published": published.copy(),
        "decision_epsilon": offer.decision / UNITS_PER_NAT,
        "publication_epsilon": publication / UNITS_PER_NAT,
        "window_epsilon": spend / UNITS_PER_NAT,
        "standard_error": standard_errors(price),
    }


def standard_errors(price: Integers) -> Floats:
    """Of noise at this price: sqrt(2) scales, which is a little too much for scales near 1."""
    scale = UNITS_PER_NAT / np.where(price > 0, price, 1)
    return np.where(price > 0, np.sqrt(2.0 * scale * scale), np.nan)


def kinds_of(published: Booleans) -> Integers:
    """Fresh or repeated."""
    return np.where(published, np.int64(Kind.FRESH), np.int64(Kind.REPEATED))


def require_size(name: str, value: int, largest: int) -> None:
    """Refuses what is not from 1 to `largest`."""
    if not 1 <= value <= largest:
        raise ValueError(f"{name}: must be from 1 to {largest}, not {value}")


def require_length(tick_milliseconds: int | None) -> None:
    """Refuses ticks without a length, if they have one in time."""
    if tick_milliseconds is not None and tick_milliseconds < 1:
        raise ValueError(f"tick_milliseconds: must be at least 1, not {tick_milliseconds}")


def units_below(epsilon: float, name: str = "epsilon") -> int:
    """A declared number of nats in units, rounded down: nobody is charged more."""
    if not isfinite(epsilon) or not 0.0 < epsilon <= LARGEST_EPSILON:
        raise ValueError(
            f"{name}: must be above 0 and at most {LARGEST_EPSILON:g} nats, not {epsilon}"
        )
    return int(Fraction(epsilon) * UNITS_PER_NAT)
