"""Step strategies of Swellfish privacy, and digest the policies that each figure knew."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import ClassVar, Generic, Literal, TypeVar

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT, in_nats
from fugu.operators.columns import digest_of, encode_fields, objects
from fugu.operators.digests import extended
from fugu.operators.guarantee import Guarantee, Point
from fugu.operators.mechanism import Draws, Inputs, Integers, Releases, State
from fugu.operators.swellfish.calendar import plain_json
from fugu.operators.swellfish.guarantees import interval_guarantee
from fugu.operators.swellfish.relevance import KINDS, Relevance, Status, Timeline
from fugu.operators.wevent.allocation import (
    LARGEST_BINS,
    LARGEST_VALUE,
    LARGEST_WINDOW,
    Booleans,
    Offer,
    Rule,
    require_size,
    units_below,
    vectors,
)
from fugu.operators.wevent.strategy import Tick, digests, standard_errors
from fugu.operators.whole_numbers import take_whole_numbers

DIGEST_BYTES = 16


def first_digest(timeline_digest: bytes) -> bytes:
    """Return the digest of the configured policies alone.

    >>> first_digest(bytes(32)).hex()
    'ff0f22492f44bac4c4b30ae58d0e8daa'
    """
    return blake2b(timeline_digest, digest_size=DIGEST_BYTES).digest()


def next_digest(before: bytes, change: bytes, now: int) -> bytes:
    """Return the digest after one more change, which tick `now` is the first to know of.

    A change that is refused counts as well. Of a time zone only the name counts, since the clock
    changes of a zone depend on the version of the database that somebody has. So whoever knows the
    document and all changes finds the tick from which on each was known, and sees whether one was
    left out, delayed or made up: two different histories with the same digest would be a collision
    of BLAKE2b.

    >>> one, other = (next_digest(first_digest(bytes(32)), b"{}", now) for now in (7, 8))
    >>> one == other
    False
    """
    content = before + now.to_bytes(8, "little", signed=True) + _with_names_of_zones(change)
    return blake2b(content, digest_size=DIGEST_BYTES).digest()


def _with_names_of_zones(change: bytes) -> bytes:
    return plain_json(_without_transitions(json.loads(change)))


def _without_transitions(data: object) -> object:
    """Replace zones, wherever they are, by their names."""
    if isinstance(data, list):
        return [_without_transitions(part) for part in data]
    if not isinstance(data, dict):
        return data
    if data.keys() == {"name", "transitions"}:
        return data["name"]
    return {name: _without_transitions(part) for name, part in data.items()}


Opened = TypeVar("Opened")
"""The state as a strategy prepares it before it makes an offer."""

Irrelevant = Literal["repeat", "exact"] | float
"""The release at ticks of sensitivity 0: the last one again, the true vector, or the true vector
with noise for a whole contribution and so many nats, which promises nothing to policies."""


@dataclass(frozen=True, eq=False)
class PolicyStrategy(ABC, Generic[Opened]):
    """Release vectors under policies, which say what is to be hidden at which ticks.

    Claim. Swellfish privacy: a single secret of a person's policies is protected with epsilon on
    the whole output, up to the delta of finite precision, and what c relevance intervals cover with
    c times epsilon.

    A row is a stream of vectors of integers, which count units, one vector per tick. Policies say
    how far the statistic of the tick may change, its `sensitivity` D, and which relevance intervals
    are open; both are public. A strategy offers a budget e2 for publishing, and perhaps e1 for the
    noisy decision whether to (`fugu.operators.wevent.strategy`). What is published has noise of
    scale D / e2. A budget below one unit per unit of sensitivity samples nothing and costs nothing.

    Parameters: `timeline`, the policies; `bins`, how many numbers a vector has; `epsilon` in nats,
    for each relevance interval; `irrelevant`, what is published at ticks of sensitivity 0:
    `repeat`, `exact`, or a number of nats.
    Input: integer vectors `(rows, bins)` that count units, one per tick. Release: integers
    `(rows, bins)`, noisy or repeated, annotated with their `status`, with `decision_epsilon` and
    `publication_epsilon` (what the tick was charged, in nats), `standard_error` in units, the
    `sensitivity` of the tick, in units, and `policies`, the digest of the configured policies and
    of every change so far (`fugu.operators.swellfish.strategy`), in hexadecimal digits.
    Source: Swellfish specification, section 5 (framework).

    Raises `ValueError` naming the parameter, and, in `step`, for values that are not integers or
    not `(rows, bins)`.
    """

    timeline: Timeline
    bins: int
    epsilon: float
    irrelevant: Irrelevant = field(default="repeat", kw_only=True)
    units: int = field(init=False, repr=False)

    kind: ClassVar[str]
    implementation: ClassVar[int] = 2
    adapts: ClassVar[bool] = True
    """Draw noise for the sensitivity of the tick, and not for that of a whole contribution."""
    claim: ClassVar[str]
    """Say how an interval keeps to its budget."""
    proof: ClassVar[str]

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        require_size("bins", self.bins, LARGEST_BINS)
        largest = self.timeline.largest_sensitivity
        require_size("timeline", largest, LARGEST_VALUE)
        object.__setattr__(self, "units", units_below(self.epsilon))
        _require_enough("epsilon", self.epsilon, self.units, self._parts * largest)
        if isinstance(self.irrelevant, str):
            if self.irrelevant not in ("repeat", "exact"):
                raise ValueError("irrelevant: must be repeat, exact, or a number of nats")
        else:
            charge = units_below(self.irrelevant, "irrelevant")
            _require_enough("irrelevant", self.irrelevant, charge, largest)

    @property
    def tick_milliseconds(self) -> int:
        """Return how long a tick is: that of the policies."""
        return self.timeline.tick_milliseconds

    @property
    def decides(self) -> bool:
        """Return whether the data decide on a publication."""
        return False

    @property
    def _parts(self) -> int:
        """Return into how many parts it divides epsilon before anything is published, at least."""
        return 1

    def start(self, rows: int) -> State:
        """Return the state at tick 0: policies as configured, and nothing released."""
        return {
            "tick": np.zeros(rows, dtype=np.int64),
            "changes": np.full(rows, b"", dtype=object),
            "begun": np.zeros(rows, dtype=np.bool_),
            "released": np.zeros((rows, self.bins), dtype=np.int64),
            "price": np.zeros(rows, dtype=np.int64),
            "history": np.zeros(rows, dtype=np.uint64),
            "policies": np.full(rows, first_digest(self.timeline.digest()), dtype=object),
        }

    def elapse(self, state: State, ticks: Integers) -> State:
        """Skip ticks that have no position, without a release; no tick comes twice."""
        return {**state, "tick": np.maximum(state["tick"], ticks)}

    def after_change(self, state: State, change: bytes) -> State:
        """Change the policies of all rows; the ticks so far know nothing of it.

        The digest of policies names a change that is refused as well, and its number counts.
        """
        changed, digest, ticks = (
            cache(self.timeline.told),
            cache(next_digest),
            state["tick"].tolist(),
        )
        rows = zip(state["changes"].tolist(), ticks, strict=True)
        told = zip(state["policies"].tolist(), ticks, strict=True)
        return {
            **state,
            "changes": objects([changed(before, change, now) for before, now in rows]),
            "policies": objects([digest(before, change, now) for before, now in told]),
        }

    def explained(self, state: State, change: bytes) -> str:
        """Tell what becomes of a change, where all rows have the same policies and ticks."""
        [tick], [changes] = set(state["tick"].tolist()), set(state["changes"].tolist())
        return self.timeline.explained(changes, change, tick)

    def settled(self, state: State) -> int:
        """Return the last tick that was released, or that belongs to an interval open at it."""
        ticks = set[int]()
        for tick, changes in zip(state["tick"].tolist(), state["changes"].tolist(), strict=True):
            intervals = self.timeline.relevance(tick - 1, changes).intervals if tick else ()
            ticks |= {tick - 1, *(interval.end for interval in intervals)}
        return max(ticks)

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Release one tick."""
        values = vectors(inputs.values, self.bins)
        relevances = self._relevances(state)
        sensitivity = np.array(list(map(self._sensitivity, relevances)), dtype=np.int64)
        relevant = sensitivity > 0
        scale = np.where(relevant, sensitivity, self.timeline.largest_sensitivity)
        opened = self._open(state, relevances)
        tick = Tick(state, values, draws, scale)
        charged = self._charged(tick, self._offer(state, opened), relevant, scale)
        otherwise, budget = self._if_irrelevant()
        sampled = np.where(charged.publication > 0, Status.SAMPLED, Status.REPEATED)
        status = np.where(relevant, sampled, otherwise)
        budgets = np.where(relevant, charged.publication, budget)
        fresh, exact = status != Status.REPEATED, status == Status.EXACT
        begun = state["begun"] | fresh
        released = np.where(exact[:, None], values, state["released"])
        noisy = np.flatnonzero(budgets)
        released[noisy] = tick.noisy(noisy, values[noisy], budgets, "release")
        price = np.where(fresh, budgets // scale, state["price"])
        after: State = {
            **self._settle(state, opened, charged),
            "tick": state["tick"] + 1,
            "changes": state["changes"].copy(),
            "begun": begun,
            "released": released,
            "price": price,
            "history": extended(state["history"], digests(fresh, released)),
            "policies": state["policies"].copy(),
        }
        status = np.where(begun, status, Status.NOTHING)
        notes: State = {
            "status": status,
            "decision_epsilon": charged.decision / UNITS_PER_NAT,
            "publication_epsilon": charged.publication / UNITS_PER_NAT,
            "standard_error": np.where(begun & (price == 0), 0.0, standard_errors(price)),
            "sensitivity": sensitivity,
            "policies": np.array([digest.hex() for digest in state["policies"].tolist()]),
        }
        return after, Releases(released.copy(), notes, KINDS[status])

    def _relevances(self, state: State) -> list[Relevance]:
        relevance = cache(self.timeline.relevance)
        rows = zip(state["tick"].tolist(), state["changes"].tolist(), strict=True)
        return [relevance(tick, changes) for tick, changes in rows]

    def _sensitivity(self, relevance: Relevance) -> int:
        """Return the sensitivity that noise is drawn for; 0: nothing is relevant."""
        if not relevance.intervals:
            return 0
        return relevance.sensitivity if self.adapts else self.timeline.largest_sensitivity

    @abstractmethod
    def _open(self, state: State, relevances: list[Relevance]) -> Opened:
        """Prepare the state for `_offer` and `_settle`."""

    @abstractmethod
    def _offer(self, state: State, opened: Opened) -> Offer:
        """Make the offer of ticks at which something is relevant."""

    @abstractmethod
    def _settle(self, state: State, opened: Opened, charged: Offer) -> State:
        """Return the columns that the strategy adds, after the charge: 0 where nothing happened."""

    def _charged(self, tick: Tick, offer: Offer, relevant: Booleans, scale: Integers) -> Offer:
        """Return what of the offer is taken; a first release is not decided upon."""
        published = relevant & (offer.publication >= scale)
        asked = published & tick.state["begun"] & self.decides
        published &= ~asked | (offer.decision >= scale)
        asked &= published
        rows = np.flatnonzero(asked)
        published[rows] = tick.dissimilar(rows, offer)
        return Offer(
            np.where(asked, offer.decision, 0),
            np.where(published, offer.publication, 0),
            offer.share,
        )

    def _if_irrelevant(self) -> tuple[Status, int]:
        """Return the status and the budget of ticks where nothing is relevant."""
        if isinstance(self.irrelevant, str):
            return Status.EXACT if self.irrelevant == "exact" else Status.REPEATED, 0
        return Status.NOISY, units_below(self.irrelevant)

    @property
    def _longest(self) -> int:
        """Return how many ticks an interval has at most in which anything is published."""
        return self.timeline.longest

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return Swellfish privacy."""
        return (
            interval_guarantee(
                epsilon=self.epsilon,
                draws=int(self.decides) + min(self.bins, self.timeline.largest_sensitivity),
                ticks=self._longest,
                tick_milliseconds=self.tick_milliseconds,
                irrelevant=self.irrelevant,
                accounting=Point(f"accounting-of-{self.kind}", self.claim),
                proof=Point(f"proof-of-{self.kind}", self.proof),
            ),
        )

    def audit(self) -> Mapping[str, object]:
        """Return the public numbers that everything else follows from."""
        return {
            "charge of a relevance interval in nats, at most": in_nats(self.units),
            "largest sensitivity in units": self.timeline.largest_sensitivity,
            "tick in milliseconds": self.tick_milliseconds,
            "published where nothing is relevant": self.irrelevant,
            "policies": self.timeline.digest().hex(),
        }

    def law_digest(self) -> bytes:
        """Identify kind, implementation and all parameters."""
        status, budget = self._if_irrelevant()
        return digest_of(
            self.kind,
            self.implementation,
            self.bins,
            self.units,
            int(status),
            budget,
            self.timeline.digest(),
            self._identity(),
        )

    def _identity(self) -> bytes:
        """Encode the parameters that a strategy adds."""
        return b""


def _require_enough(name: str, nats: float, units: int, needed: int) -> None:
    if units < needed:
        raise ValueError(
            f"{name}: {nats:g} nats is too little for these policies; give at least "
            f"{in_nats(needed):g} nats"
        )


_PREFIX = "rule_"
_COVERED = "covered"


@dataclass(frozen=True, eq=False)
class WindowStrategy(PolicyStrategy[State]):
    """Spread epsilon over windows, with noise for the sensitivity of each tick.

    Claim. Swellfish privacy, as for `PolicyStrategy`. A window bounds what an interval spends only
    if it is as long: while a longer one is open, nothing is published, so that the claim holds
    whatever policies people add.

    A baseline that knows how much policies hide in a tick, and not for how long. It spreads budgets
    over windows of a fixed number of ticks, as `operators.wevent.allocation` does, and draws noise
    for the sensitivity of the tick instead of that of a whole contribution. A tick of sensitivity 0
    takes its place in the window and is charged nothing. With `irrelevant: exact` it is published
    as it is, as the paper has it; with `repeat` it repeats what is older than it could be, and the
    strategy is worse than it would be in the paper, but says nothing about such ticks. A first
    release is not decided upon.

    Parameters: those of `PolicyStrategy`, and `window` in ticks, as many as the longest relevance
    interval has. Input, release and errors: as for `PolicyStrategy`. State: the columns of the
    rule, too, whose ticks count positions. Source: Swellfish specification, section 6 (TS
    variants).
    """

    window: int
    rule: Rule = field(init=False, repr=False)

    rule_class: ClassVar[type[Rule]]
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 and 6 (Theorem 4.3)"

    def __post_init__(self) -> None:
        require_size("window", self.window, LARGEST_WINDOW)
        super().__post_init__()
        object.__setattr__(self, "rule", self.rule_class(self.window, self.units))

    @property
    def decides(self) -> bool:
        return self.rule_class.decides

    @property
    def _parts(self) -> int:
        return 2 * self.window

    def start(self, rows: int) -> State:
        return {**super().start(rows), **_prefixed(self.rule.start(rows))}

    def _open(self, state: State, relevances: list[Relevance]) -> State:
        columns = {
            name.removeprefix(_PREFIX): column
            for name, column in state.items()
            if name.startswith(_PREFIX)
        }
        covered = [
            all(one.end - one.start < self.window for one in relevance.intervals)
            for relevance in relevances
        ]
        return {**columns, _COVERED: np.array(covered, dtype=np.bool_)}

    def _offer(self, state: State, opened: State) -> Offer:
        offer = self.rule.offer(opened, np.zeros(len(state["tick"]), dtype=np.bool_))
        return Offer(offer.decision, np.where(opened[_COVERED], offer.publication, 0), offer.share)

    def _settle(self, state: State, opened: State, charged: Offer) -> State:
        return _prefixed(self.rule.settle(opened, charged, charged.publication > 0))

    @property
    def _longest(self) -> int:
        return min(self.window, super()._longest)

    def audit(self) -> Mapping[str, object]:
        return {
            **super().audit(),
            "longest relevance interval in which anything is published, in ticks": self.window,
        }

    def _identity(self) -> bytes:
        return encode_fields(self.window)


def _prefixed(columns: State) -> State:
    return {_PREFIX + name: column for name, column in columns.items()}
