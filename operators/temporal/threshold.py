"""Dispatch each value to its own slot, or to one that is drawn (TM and ETM)."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, log
from typing import Any, ClassVar, Literal, Self

import numpy as np

from fugu.operators.columns import binding_digest
from fugu.operators.guarantee import Guarantee, Point
from fugu.operators.mechanism import Array, Draws, Floats, Kind, Releases, State, Words
from fugu.operators.randomness import draws_of, integers_below, unit_interval
from fugu.operators.responses.randomized_response import WORDS
from fugu.operators.temporal import dispatch_law
from fugu.operators.temporal.dispatch_law import (
    ROUNDING,
    SMALLEST_K,
    TOLERANCE,
    Expected,
    by_distance,
    delay_law,
    derived_budget,
    free_chances,
    impossible_shares,
)
from fugu.operators.temporal.guarantees import (
    EMPTY_IS_DROPPED,
    KNOWN_SLOTS,
    LONGEST_EPOCH,
    RANDOM_COOL_DOWN,
    delay_guarantee,
    delta_of,
)
from fugu.operators.temporal.selection import infeasible, select, smaller_k_is_better
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.whole_numbers import take_whole_numbers

StartMode = Literal["stationary", "cold"]

_PROOF = Point(
    "juggling-chain", "TLDP specification, section 3 (juggling chain) and section 6 (G1)"
)
_NO_PROOF = Point(
    "cold-start-breaks-the-bound",
    "A cold start breaks the bound: the delays of early values have another law, until enough "
    "ticks were empty",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class ThresholdDispatch(TemporalPerturbation):
    """Dispatch each value to its own slot or, if that is reserved, to a random free one.

    Parameters: `k`, 3 to 1000 ticks; `c0`, 2 to k-1, the free slots in steady state (k - c0 values
    wait, which is also the mean delay of TM); `epsilon`, a budget in nats that the law must not
    exceed, or None; `start_mode`: "stationary", or "cold" as in the paper, which breaks the claim.
    Input, release and errors: as for `TemporalPerturbation`.

    State: also `occupied (rows, k)`, which slots are reserved, k - c0 of them in steady state. A
    reserved slot may hold None: a tick without a value, or nothing at all (a stationary start
    reserves slots for values that never were). A free slot holds None and is not occupied. A draw
    picks one of the free slots, all alike, so they are numbered as they lie in the ring.

    An epoch that is finished lets out what is pending in random order, all orders alike, at the
    k - c0 ticks that follow. So every tick that is published has one value, which of them it is
    depends on draws alone, and outputs say nothing about draws to whoever finds all orders of
    values equally likely. In the order of slots, empty ticks would show which were reserved. An
    epoch of less than k-1 ticks lets out nothing: slots that were reserved for values that never
    were would show.
    """

    c0: int
    epsilon: float | None = None
    start_mode: StartMode = "stationary"

    smallest_k: ClassVar[int] = SMALLEST_K

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.c0, int) or not 2 <= self.c0 < self.k:
            raise ValueError(f"c0: must be a whole number, 2 to k - 1, not {self.c0}")
        if self.start_mode not in ("stationary", "cold"):
            raise ValueError("start_mode: must be stationary or cold")
        if self.epsilon is None:
            return
        if not isfinite(self.epsilon) or self.epsilon <= 0.0:
            raise ValueError(f"epsilon: must be a number above 0, not {self.epsilon}")
        if self.delay_law_epsilon > self.epsilon + TOLERANCE:
            raise ValueError(
                f"epsilon: the law of k = {self.k} and c0 = {self.c0} has a budget of "
                f"{self.delay_law_epsilon:.6g} nats, which is above {self.epsilon:g}. Leave c0 or "
                "epsilon out, or choose another c0."
            )

    @property
    @abstractmethod
    def accepted(self) -> float:
        """Return P(a value that need not wait is published), a."""

    @abstractmethod
    def _accepts(self, words: Words) -> Array:
        """Return whether it is, by its word."""

    def start(self, rows: int) -> State:
        """Return the state at epoch 0: all slots are free, until the first tick reserves some."""
        return {**super().start(rows), "occupied": np.zeros((rows, self.k), dtype=bool)}

    @property
    def pending(self) -> int:
        """Return how many values wait in steady state, m."""
        return self.k - self.c0

    @property
    def cool_down_ticks(self) -> int:
        return self.pending

    def finish(self, state: State, draws: Draws) -> tuple[State, tuple[Releases, ...]]:
        """Let out what is pending, in random order, and begin the next epoch."""
        short = (state["tick"] < self.k - 1) & (self.warm_up == "suppress")
        after, releases = super().finish(state, draws)
        for released in releases:
            assert released.kinds is not None
            released.values[short], released.kinds[short] = None, Kind.SUPPRESSED
        return after, releases

    @property
    def delay_law(self) -> Floats:
        law = delay_law(self.k, self.c0).copy()
        law[0] *= self.accepted
        return law / (1.0 - self._dropped)

    @property
    def delay_law_epsilon(self) -> float:
        law = self.delay_law
        if self.accepted == 1.0:
            return derived_budget(self.k, self.c0)
        return 2.0 * log(law.max() / law.min())

    @property
    def expected(self) -> Expected:
        return dispatch_law.threshold(self.k, self.c0, self._undelayed, self.accepted)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the bound on one delay; from a cold start there is no such promise."""
        cold = self.start_mode == "cold"
        return (
            delay_guarantee(
                k=self.k,
                epsilon=self.delay_law_epsilon,
                not_covered=(KNOWN_SLOTS, *self._empties),
                proof=_NO_PROOF if cold else _PROOF,
                finite_precision_delta=delta_of(self.delay_law_epsilon, self._total_variation),
                warm_up_published=self.warm_up == "emit",
                cool_down=RANDOM_COOL_DOWN.of(ticks=self.pending, late=self.k + self.pending - 2),
                sound=not cold,
            ),
        )

    @property
    def _empties(self) -> tuple[Point, ...]:
        return ()

    @property
    def _undelayed(self) -> float:
        return float(delay_law(self.k, self.c0)[0])

    @property
    def _dropped(self) -> float:
        return self._undelayed * (1.0 - self.accepted)

    @property
    def _total_variation(self) -> float:
        """Bound the distance of the law drawn: by the start, by every draw, and computed."""
        beyond = 2**64 % self.c0
        each = Fraction(beyond * (self.c0 - beyond), self.c0 * 2**64)
        start = self.k * (self.k * ROUNDING + 2.0**-53)
        return start + float(LONGEST_EPOCH * each) + self.k * ROUNDING + 2.0**-64

    def _audited(self) -> Mapping[str, object]:
        lost = self.c0 - 1 if self.warm_up == "suppress" else 0
        return {
            "c0": self.c0,
            "a": self.accepted,
            "eps_nominal": self.epsilon,
            "joint_bound_distinct": self._joint_bound,
            "impossible_share": by_distance(impossible_shares(self.k, self.c0, self.accepted)),
            "warmup": {
                "ticks": self.k - 1,
                "published": self.warm_up == "emit",
                "start": self.start_mode,
                "values_lost_at_most": lost if self.start_mode == "stationary" else None,
            },
            "cooldown": {"ticks": self.cool_down_ticks, "pending": self.pending},
        }

    @property
    def _joint_bound(self) -> float:
        """Return the nats by which a possible output may change if two values change places."""
        return abs(log(self.c0 * self.accepted))

    @property
    def _outputs_say_more(self) -> tuple[str, ...]:
        """Warn where that is more than the epsilon of the law."""
        if self._joint_bound <= self.delay_law_epsilon + TOLERANCE:
            return ()
        return (
            f"two distinct values that change places can change the likelihood of a possible "
            f"output by {self._joint_bound:.4g} nats, which is more than epsilon: epsilon, here "
            f"{self.delay_law_epsilon:.4g}, is about one release tick alone",
        )

    def _identity(self) -> tuple[str | int, ...]:
        return (self.c0, self.accepted.hex(), self.start_mode)

    def _begun(self, state: State, draws: Draws) -> State:
        after = super()._begun(state, draws)
        fresh = np.flatnonzero(after["tick"] == 0)
        if self.start_mode == "cold" or not len(fresh):
            return after
        bindings = [binding_digest(epoch) for epoch in after["epoch"][fresh].tolist()]
        its = draws_of(draws, fresh, len(after["tick"]))
        words = its.words("start", bindings, count=self.k)[:, 0]
        after["occupied"][fresh] = self._reserved(unit_interval(words))
        return after

    def _reserved(self, uniforms: Floats) -> Array:
        """Draw an occupancy in steady state for each row of uniforms, slot after slot."""
        chances = free_chances(self.k, self.c0)
        reserved = np.empty(uniforms.shape, dtype=bool)
        left = np.full(len(uniforms), self.c0)
        for slot in range(self.k):
            reserved[:, slot] = uniforms[:, slot] >= chances[self.k - slot, left]
            left -= ~reserved[:, slot]
        return reserved

    def _exchange(self, after: State, values: Array, words: Words) -> Array:
        occupied, (rows, head) = after["occupied"], self._head(after)
        counted = np.cumsum(~occupied, axis=1, dtype=np.int16)
        free = counted[:, -1]
        must_leave = ~occupied[rows, head] & (free == self.c0)
        wanted = integers_below(words, free.astype(np.int64)).astype(np.int16)
        drawn = (counted > wanted[:, None]).argmax(axis=1)
        slot = np.where(must_leave, head, drawn)
        taken = np.flatnonzero(~must_leave | self._accepts(words))
        after["slots"][rows[taken], slot[taken]] = values[taken]
        occupied[rows[taken], slot[taken]] = True
        return self._leave(after)

    def _arranged(self, state: State, draws: Draws) -> State:
        """Move what is pending to the next slots: a draw of 64 bits for each, which sorts them."""
        rows, head = self._head(state)
        ring = (head[:, None] + np.arange(self.k)) % self.k
        bindings = [history.tobytes() for history in state["history"].astype("<u8")]
        words = draws.words("drain", bindings, count=self.k)[:, 0]
        order = np.argsort(words, axis=1, kind="stable")
        occupied = state["occupied"][rows[:, None], ring]
        free = ~np.take_along_axis(occupied, order, axis=1)
        order = np.take_along_axis(order, np.argsort(free, axis=1, kind="stable"), axis=1)
        slots, reserved = state["slots"].copy(), state["occupied"].copy()
        pending = np.take_along_axis(state["slots"][rows[:, None], ring], order, axis=1)
        slots[rows[:, None], ring] = pending
        reserved[rows[:, None], ring] = np.take_along_axis(occupied, order, axis=1)
        return {**state, "slots": slots, "occupied": reserved}

    def _leave(self, after: State) -> Array:
        rows, head = self._head(after)
        after["occupied"][rows, head] = False
        return super()._leave(after)


@dataclass(frozen=True, eq=False, kw_only=True)
class ThresholdPerturbation(ThresholdDispatch):
    """Let a value wait for a random free slot, but only if its own one is taken.

    This is the threshold mechanism (TM).

    Claim. In steady state, no delay is more than e^(epsilon / 2) times as likely as another one,
    with the epsilon derived from k and c0. That bounds what one release tick alone says about the
    original tick; it is not a bound on what all releases together say. Every value leaves exactly
    once, within k-1 ticks, and every tick of the steady state lets out exactly one.

    Parameters: those of `ThresholdDispatch`, as are input, release, state and errors.

    >>> from fugu.operators.single_stream import released
    >>> threshold = ThresholdPerturbation.for_budget(k=5, epsilon=2.0)
    >>> threshold.c0, round(threshold.delay_law_epsilon, 3)
    (3, 1.695)
    >>> [tick.values[0] for tick in released(threshold, [b"%d" % tick for tick in range(12)])][4:]
    [b'0', b'5', b'3', b'4', b'6', b'9', b'7', b'11']

    Source: TLDP specification, sections 3 to 7; Ye et al. 2021, section IV.
    """

    kind: ClassVar[str] = "threshold_perturbation"

    @classmethod
    def for_budget(cls, k: int, epsilon: float, **options: Any) -> Self:
        """Select the shortest delays that the budget allows; `ValueError` if it allows none."""
        selected = select(k, epsilon)
        if selected.acceptance < 1.0:
            raise ValueError(f"epsilon: {infeasible(k, epsilon)}")
        return cls(k=k, c0=selected.c0, epsilon=epsilon, **options)

    @property
    def accepted(self) -> float:
        return 1.0

    @property
    def warnings(self) -> tuple[str, ...]:
        most = derived_budget(self.k, self.k - 1)
        if self.epsilon is None or self.epsilon <= most:
            return self._outputs_say_more
        return (
            *self._outputs_say_more,
            f"epsilon of {self.epsilon:g} nats is not used up: no law of k = {self.k} has more "
            f"than {most:.4g}; a larger k delays more and hides more",
        )

    def _audited(self) -> Mapping[str, object]:
        exact = self.start_mode == "stationary" and self.warm_up == "suppress"
        return {
            **super()._audited(),
            "max_posterior_exchangeable": self._largest_posterior if exact else 1.0,
        }

    @property
    def _largest_posterior(self) -> float:
        """Bound the posterior of a delay, or of the age of a value that leaves in the cool-down.

        Each of these is the value of a tick that waits with equal probability. The last value
        waits with the largest one, 1 - P(delay 0).
        """
        last = (1.0 - self._undelayed) / self.pending
        return max(float(self.delay_law.max()), last)

    def _accepts(self, words: Words) -> Array:
        return np.ones(len(words), dtype=bool)


@dataclass(frozen=True, eq=False, kw_only=True)
class ExtendedThresholdPerturbation(ThresholdDispatch):
    """Dispatch values as TM does, and drop some of those that need not wait.

    This is the extended threshold mechanism (ETM), for budgets below any that TM derives.

    Claim. In steady state, no delay of a published value is more than e^(epsilon / 2) times as
    likely as another one. That bounds what one release tick alone says about the original tick; it
    is not a bound on what all releases together say. A value that need not wait is dropped with
    probability 1-a, and the empty tick says so.

    Parameters: those of `ThresholdDispatch`, as are input, release, state and errors; `acceptance`,
    a, 0 < a <= 1 (with 1 this is the threshold mechanism).

    >>> extended = ExtendedThresholdPerturbation.for_budget(k=10, epsilon=1.0)
    >>> extended.c0, round(extended.acceptance, 6), round(extended.delay_law_epsilon, 9)
    (8, 0.099923, 1.0)

    Source: TLDP specification, sections 3 to 7 and 10; Ye et al. 2021, section IV.
    """

    acceptance: float

    kind: ClassVar[str] = "extended_threshold_perturbation"

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if not 0.0 < self.acceptance <= 1.0:
            raise ValueError(f"acceptance: must be above 0 and at most 1, not {self.acceptance}")
        if int(self.acceptance * WORDS) == 0:
            raise ValueError(f"acceptance: {self.acceptance:g} is below what 64-bit words can tell")
        super().__post_init__()

    @classmethod
    def for_budget(cls, k: int, epsilon: float, **options: Any) -> Self:
        """Select c0 and a as in section 4; a is 1 where the budget can be derived."""
        selected = select(k, epsilon)
        return cls(k=k, c0=selected.c0, acceptance=selected.acceptance, epsilon=epsilon, **options)

    @property
    def accepted(self) -> float:
        return self.acceptance

    @property
    def warnings(self) -> tuple[str, ...]:
        told = self.delay_law_epsilon if self.epsilon is None else self.epsilon
        return (
            f"{self.kind} drops {self.expected.missing:.1%} of all values, and each empty tick "
            f"says which one. {smaller_k_is_better(told)}",
            *self._outputs_say_more,
        )

    @property
    def _empties(self) -> tuple[Point, ...]:
        return (EMPTY_IS_DROPPED,)

    def _accepts(self, words: Words) -> Array:
        if self.acceptance == 1.0:
            return np.ones(len(words), dtype=bool)
        return words < np.uint64(int(self.acceptance * WORDS))
