"""Step strategies of w-event privacy, which allot budgets to ticks, and state what they promise."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from math import inf
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import LARGEST_CHARGE, UNITS_PER_NAT, in_nats
from fugu.operators.columns import binding_digest, digest_of
from fugu.operators.digests import extended
from fugu.operators.guarantee import (
    BEYOND_A_WINDOW,
    CONTRIBUTIONS,
    CORRELATION,
    EXACT_SUMS_SEEN,
    KEYED_HASH,
    SAME_PEOPLE,
    SECRET,
    TIMES_OF_RECORDS,
    WHOLE_RECORDS,
    Guarantee,
    Neighbours,
    Point,
)
from fugu.operators.leakage.correlation import OnlineLeakage, TemporalCorrelation
from fugu.operators.mechanism import Draws, Floats, Inputs, Integers, Kind, Releases, State
from fugu.operators.noise.additive import finite_precision_delta
from fugu.operators.noise.unit_laplace import TOTAL_VARIATION, WORDS_PER_DRAW, sample
from fugu.operators.randomness import draws_of
from fugu.operators.wevent.allocation import (
    LARGEST_BINS,
    LARGEST_VALUE,
    LARGEST_WINDOW,
    Booleans,
    Cap,
    Offer,
    Rule,
    require_length,
    require_size,
    units_below,
    vectors,
)
from fugu.operators.whole_numbers import take_whole_numbers

_TICKS_INDEPENDENT = Point(
    "ticks-independent",
    "an adversary with no knowledge of how the ticks of a person depend on each other, but any "
    "other prior, and any knowledge about everybody else",
)
_SENSITIVITY = Point(
    "sensitivity",
    "neighbouring inputs differ in at most {changed:,} of the {bins:,} bins of a tick, by at most "
    "{units:,} units in total: contributions are clamped, and there is at most one for each person "
    "and tick",
)
_TWICE = Point(
    "replaced",
    "which contribution there is, where there is one: to replace it by another one is two such "
    "changes, and is protected with twice epsilon and (1 + e^epsilon) delta only",
)


def beyond(neighbours: Neighbours) -> tuple[Point, ...]:
    """Return what the promise leaves open where it is about presence."""
    return (_TWICE,) if neighbours.change == "presence" else ()


def window_guarantee(
    *,
    epsilon: float,
    window: int,
    bins: int,
    draws: int,
    sensitivity: int,
    neighbours: Neighbours,
    tick_milliseconds: int | None,
    accounting: Point,
    not_covered: tuple[Point, ...] = (),
    proof: Point,
    tick_by_tick: bool = True,
    largest: float | None = None,
) -> Guarantee:
    """Return w-event privacy of `epsilon` nats per `window` ticks.

    `draws`: how many draws of a tick meet data that differ between neighbours, at most; `largest`:
    what one draw loses at most, in nats. Source: PBA specification, sections 1 and 6.

    Source: PBA specification, sections 1 and 6.
    """
    changed = min(bins, neighbours.bins)
    return Guarantee(
        notion="w-event-dp",
        epsilon=epsilon,
        delta=0.0,
        per="window",
        tick_by_tick=tick_by_tick,
        window=window,
        tick_milliseconds=tick_milliseconds,
        neighbours=neighbours,
        adversary=_TICKS_INDEPENDENT,
        accounting=(accounting,),
        trust=EXACT_SUMS_SEEN,
        assumptions=(_SENSITIVITY.of(bins=bins, units=sensitivity, changed=changed), KEYED_HASH),
        not_covered=(
            *not_covered,
            *beyond(neighbours),
            CORRELATION,
            BEYOND_A_WINDOW,
            WHOLE_RECORDS,
            TIMES_OF_RECORDS,
            SAME_PEOPLE,
            SECRET,
        ),
        proof=proof,
        finite_precision_delta=finite_precision_delta(
            epsilon, TOTAL_VARIATION, window * draws, largest
        ),
    )


LARGEST_DISTANCE = 2**45
"""Over all bins distances sum to 2^62 at most, which leaves room in 64 bits for noise: 2^46."""


@dataclass(frozen=True)
class Tick:
    """Draw the noise of a tick on true vectors `values (rows, bins)`.

    `sensitivity` is that of every row `(rows,)`, or one for all, in units.
    """

    state: State
    values: Integers
    draws: Draws
    sensitivity: int | Integers

    def noisy(self, rows: Integers, numbers: Integers, budgets: Integers, purpose: str) -> Integers:
        """Add noise to `numbers (len(rows), coordinates)`, at the `budgets` of all rows in units.

        A draw is bound to the true vector, to the budget, and to everything released before.
        """
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
        """Return the noisy dissimilarity test of rows to which a publication is offered."""
        distances = np.abs(self.state["released"][rows] - self.values[rows])
        apart = np.minimum(distances, LARGEST_DISTANCE).sum(axis=1)
        noisy = self.noisy(rows, apart[:, None], offer.decision, "dissimilarity")[:, 0]
        price = offer.publication[rows] // self._sensitivity(rows)
        return np.asarray(noisy > (self.values.shape[1] << 40) // price)

    def _sensitivity(self, rows: Integers) -> Integers:
        return np.broadcast_to(self.sensitivity, len(self.values))[rows]


def digests(published: Booleans, released: Integers) -> Integers:
    """Return the event that each row adds to its history: 0 where nothing is published."""
    events = np.zeros(len(published), dtype=np.int64)
    for row in np.flatnonzero(published):
        digest = blake2b(released[row].astype(">i8").tobytes(), digest_size=8).digest()
        events[row] = int.from_bytes(digest, "big", signed=True)
    return events


def standard_errors(price: Integers) -> Floats:
    """Return sqrt(2) scales of the noise at this price: a little too much for scales near 1."""
    scale = UNITS_PER_NAT / np.where(price > 0, price, 1)
    return np.where(price > 0, np.sqrt(2.0 * scale * scale), np.nan)


def kinds_of(published: Booleans) -> Integers:
    """Return the kind of each release: fresh, or repeated."""
    return np.where(published, np.int64(Kind.FRESH), np.int64(Kind.REPEATED))


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


_LEAKAGE = "leakage"
_SHOWN = 1e6
"""Parts of a nat that are shown, rounded up."""


@dataclass(frozen=True, eq=False)
class Watched:
    """Annotate the releases of a strategy with their temporal leakage so far.

    Releases are those of the strategy inside. Each has one more annotation, `backward_leakage`:
    all releases so far tell at most so many nats about the newest tick of one person, to an
    adversary with the declared Markov model (alpha_B). What is released later adds to it;
    `fugu explain` bounds the whole.

    Parameters: `strategy`; `correlation`, the matrices; `factor`, how many times what is spent a
    change leaks: 2 if noise is for users who come or go, else 1; `ValueError` for others. State:
    also `leakage (rows,)`.

    >>> from fugu.operators.single_stream import released
    >>> from fugu.operators.wevent.spread_strategies import Uniform
    >>> rows = [[0.6, 0.4], [0.1, 0.9]]
    >>> often = TemporalCorrelation.of(rows, backward=rows)
    >>> watched = Watched(Uniform(bins=1, window=2, epsilon=2.0, sensitivity=1), often)
    >>> ticks = released(watched, [[500]] * 3)
    >>> [float(tick.annotations["backward_leakage"][0].round(4)) for tick in ticks]
    [1.0, 1.5499, 1.8558]

    Source: PBA specification, sections 5 and 8.
    """

    strategy: Strategy
    correlation: TemporalCorrelation
    factor: int = 1

    def __post_init__(self) -> None:
        if self.factor not in (1, 2):
            raise ValueError(f"factor: must be 1 or 2, not {self.factor}")

    @property
    def kind(self) -> str:
        """Return the kind of the strategy inside."""
        return self.strategy.kind

    @property
    def implementation(self) -> int:
        """Return the implementation of the strategy inside."""
        return self.strategy.implementation

    def start(self, rows: int) -> State:
        """Return the state before the first tick: nothing has been learned."""
        return {**self.strategy.start(rows), _LEAKAGE: self._online.start(rows)}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Advance the strategy by one tick, and add what that tells."""
        inner = {name: column for name, column in state.items() if name != _LEAKAGE}
        after, releases = self.strategy.step(inner, inputs, draws)
        spent = self.factor * (after["spent"] - state["spent"])
        leakage = self._online.advance(state[_LEAKAGE], spent)
        leaked = self._online.leaked(leakage)
        shown = np.ceil(leaked / UNITS_PER_NAT * _SHOWN) / _SHOWN
        nats = np.where(leaked == LARGEST_CHARGE, inf, shown)
        notes = {**releases.annotations, "backward_leakage": nats}
        return {**after, _LEAKAGE: leakage}, replace(releases, annotations=notes)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the guarantees of the strategy inside."""
        return self.strategy.guarantees()

    def audit(self) -> Mapping[str, object]:
        """Return the audit of the strategy inside."""
        return self.strategy.audit()

    def law_digest(self) -> bytes:
        """Identify the strategy inside and the matrices."""
        both = (self.correlation.backward, self.correlation.forward)
        return digest_of(
            "watched",
            self.implementation,
            self.strategy.law_digest(),
            self.factor,
            *(side.astype("<f8").tobytes() for one in both for side in one.numbers),
        )

    @cached_property
    def _online(self) -> OnlineLeakage:
        return OnlineLeakage(self.correlation, self.factor * self.strategy.largest_tick)
