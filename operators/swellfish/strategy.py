"""The step that all strategies of Swellfish privacy share, by what policies ask of a tick."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, Generic, Literal, TypeVar

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT, in_nats
from fugu.operators.byte_fields import digest_of
from fugu.operators.columns import objects
from fugu.operators.declared import take_whole_numbers
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Draws, Inputs, Integers, Releases, State
from fugu.operators.points import Point
from fugu.operators.release_digest import extended
from fugu.operators.swellfish.chain import first_digest, next_digest
from fugu.operators.swellfish.guarantees import interval_guarantee
from fugu.operators.swellfish.relevance import Relevance, Timeline
from fugu.operators.swellfish.status import KINDS, Status
from fugu.operators.wevent.allocation import Booleans, Offer
from fugu.operators.wevent.limits import (
    LARGEST_BINS,
    LARGEST_VALUE,
    require_size,
    units_below,
    vectors,
)
from fugu.operators.wevent.tick import Tick, digests, standard_errors

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
    of every change so far (`fugu.operators.swellfish.chain`), in hexadecimal digits.
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
