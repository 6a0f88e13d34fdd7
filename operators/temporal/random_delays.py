"""Displace values by random lags: an earlier one at each tick, or each one later."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, isfinite, log, log1p
from typing import ClassVar, Literal

import numpy as np

from fugu.operators.guarantee import Guarantee, Point
from fugu.operators.mechanism import Array, Floats, Integers, State, Words
from fugu.operators.responses.randomized_response import LARGEST_EPSILON, WORDS, Odds
from fugu.operators.temporal import dispatch_law
from fugu.operators.temporal.dispatch_law import Expected, by_distance
from fugu.operators.temporal.guarantees import (
    COOL_DOWN,
    EMPTY_IS_UNCHOSEN,
    ONE_VISIBLE_DELAY,
    REPEATS,
    delay_guarantee,
)
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomLag(TemporalPerturbation):
    """Draw a lag that is 0 or, less likely, any other one of 0..k-1, all alike.

    A lag is drawn by comparing a 64-bit word with integers (`randomized_response.Odds`), so that
    its law is exact, and no lag is more than e^(epsilon / 2) times as likely as another one.
    `epsilon` is the budget; `odds` are those of lag 0 against each other one.
    """

    epsilon: float
    odds: Odds = field(init=False, repr=False)

    smallest_k: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isfinite(self.epsilon) or not 0.0 < self.epsilon <= LARGEST_EPSILON:
            raise ValueError(
                f"epsilon: must be above 0 and at most {LARGEST_EPSILON:g} nats, not {self.epsilon}"
            )
        object.__setattr__(self, "odds", Odds.of(self.k - 1, self._lag_epsilon / 2.0))

    @property
    @abstractmethod
    def _lag_epsilon(self) -> float:
        """Return the budget of the law of the lag."""

    @property
    def none(self) -> float:
        """Return P(lag 0), p0."""
        return self.odds.favoured / WORDS

    @property
    def each(self) -> float:
        """Return P(lag j) of every other j, p1."""
        return self.odds.each / WORDS

    def _lags(self, words: Words) -> Integers:
        favoured = np.uint64(self.odds.favoured)
        waits = words >= favoured
        beyond = np.where(waits, words - favoured, 0) // np.uint64(self.odds.each)
        return np.where(waits, beyond.astype(np.int64) + 1, 0)

    def _identity(self) -> tuple[str | int, ...]:
        return (self.odds.each,)

    def _audited(self) -> Mapping[str, object]:
        return {"eps_nominal": self.epsilon}


def lag_law(k: int, epsilon: float) -> tuple[float, float]:
    """Return P(lag 0) and P(lag j) of every other j, before rounding to whole words."""
    ratio = exp(-epsilon / 2.0)
    whole = 1.0 + (k - 1) * ratio
    return 1.0 / whole, ratio / whole


@dataclass(frozen=True, eq=False, kw_only=True)
class BackwardPerturbation(RandomLag):
    """Publish at every tick one of the last k values.

    This is the backward perturbation mechanism (BPM).

    Claim. In steady state, no lag (how many ticks ago a released value came) is more than
    e^(epsilon / 2) times as likely as another one. That bounds what one release tick alone says; it
    is not a bound on what all releases together say. Values may be published twice, or never, and a
    value that is published k-1 ticks apart has told its tick.

    Parameters: those of `TemporalPerturbation`, as are input, release, state and errors; `epsilon`
    in nats, 0 < epsilon <= 50. Nothing is ever pending, so an epoch ends without a cool-down.

    >>> from fugu.operators.single_stream import released
    >>> backward = BackwardPerturbation(k=3, epsilon=2.0)
    >>> [tick.values[0] for tick in released(backward, [b"%d" % tick for tick in range(8)])]
    [None, None, b'2', b'3', b'4', b'4', b'6', b'6']

    Source: TLDP specification, sections 2 and 6; Ye et al. 2021, section III-A.
    """

    kind: ClassVar[str] = "backward_perturbation"

    @property
    def cool_down_ticks(self) -> int:
        """Return 0: what was not published by its last tick is gone."""
        return 0

    @property
    def _lag_epsilon(self) -> float:
        return self.epsilon

    @property
    def delay_law(self) -> Floats:
        return np.array([self.none, *[self.each] * (self.k - 1)])

    @property
    def delay_law_epsilon(self) -> float:
        """Return the budget of the words drawn, which is not above the one declared."""
        return min(self.epsilon, 2.0 * log(self.none / self.each))

    @property
    def expected(self) -> Expected:
        return dispatch_law.backward(self.k, self.none, self.each)

    @property
    def warnings(self) -> tuple[str, ...]:
        lost = self.expected.missing
        return (
            f"{self.kind} loses {lost:.1%} of all values and publishes as many twice, and whoever "
            "sees a value twice learns much about its tick; threshold_perturbation does neither",
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        return (
            delay_guarantee(
                k=self.k,
                epsilon=self.delay_law_epsilon,
                not_covered=(REPEATS,),
                proof=Point(
                    "exact-delay-law", "TLDP specification, section 6 (G1); the law drawn is exact"
                ),
                finite_precision_delta=0.0,
                warm_up_published=self.warm_up == "emit",
            ),
        )

    def _audited(self) -> Mapping[str, object]:
        distances = np.arange(1, self.k)
        shares = 1.0 - (1.0 - self.none) * (1.0 - self.each) ** (2 * distances - 1)
        return {
            **super()._audited(),
            "joint_bound_distinct": self.epsilon / 2.0,
            "impossible_share": by_distance(np.asarray(shares, dtype=np.float64)),
            "cooldown": {"ticks": 0},
        }

    def _exchange(self, after: State, values: Array, words: Words) -> Array:
        rows, head = self._head(after)
        after["slots"][rows, head] = values
        return np.asarray(after["slots"][rows, (head - self._lags(words)) % self.k])

    def _leave(self, after: State) -> Array:
        """Let out nothing: what the slot of this tick holds came k ticks ago."""
        return np.full(len(after["tick"]), None, dtype=object)

    def _pending(self, state: State) -> Integers:
        return np.zeros(len(state["tick"]), dtype=np.int64)


Calibrate = Literal["nominal", "visible"]

_STEPS_PER_NAT = 2**40


@dataclass(frozen=True, eq=False, kw_only=True)
class ForwardPerturbation(RandomLag):
    """Let every value choose one of k ticks, at which it may be overwritten.

    This is the forward perturbation mechanism (FPM).

    Claim. In steady state, no delay that is seen is more than e^(epsilon / 2) times as likely as
    another one. A value that waits longer is more often overwritten, so the choice of a tick has a
    smaller budget, epsilon', with epsilon = epsilon' - 2 ln(1 - p0) - 2 (k - 2) ln(1 - p1). That
    bounds what one release tick alone says; it is not a bound on what all releases together say.

    Parameters: those of `TemporalPerturbation`, as are input, release, state and errors; `epsilon`
    in nats, 0 < epsilon <= 50; `calibrate`: "visible", or "nominal" as in the paper, where
    `epsilon` is that of the choice, and what is seen has 2 nats more or, with large ones, twice as
    much.

    >>> forward = ForwardPerturbation(k=10, epsilon=4.0)
    >>> round(forward.internal_epsilon, 4), round(forward.delay_law_epsilon, 4)
    (2.0424, 4.0)
    >>> round(ForwardPerturbation(k=10, epsilon=1.0, calibrate="nominal").delay_law_epsilon, 2)
    2.91

    Source: TLDP specification, sections 2, 6 and 8; Ye et al. 2021, section III-B.
    """

    calibrate: Calibrate = "visible"

    kind: ClassVar[str] = "forward_perturbation"

    def __post_init__(self) -> None:
        if self.calibrate not in ("nominal", "visible"):
            raise ValueError("calibrate: must be nominal or visible")
        super().__post_init__()

    @property
    def _lag_epsilon(self) -> float:
        return self.internal_epsilon

    @cached_property
    def internal_epsilon(self) -> float:
        """Return the budget of the choice of a tick."""
        if self.calibrate == "nominal":
            return self.epsilon
        return calibrated(self.k, self.epsilon)

    @property
    def delay_law(self) -> Floats:
        survives = (1.0 - self.none) * (1.0 - self.each) ** np.arange(self.k - 1)
        law = np.concatenate([[self.none], self.each * survives])
        return np.asarray(law / law.sum())

    @property
    def delay_law_epsilon(self) -> float:
        """Return the budget of the delays that are seen, by the words that are drawn."""
        waits, survives = (self.k - 1) * self.each, (self.k - 2) * log1p(-self.each)
        return 2.0 * (log(self.none / self.each) - log(waits) - survives)

    @property
    def expected(self) -> Expected:
        return dispatch_law.forward(self.k, self.none, self.each)

    @property
    def warnings(self) -> tuple[str, ...]:
        seen = self.delay_law_epsilon
        return (
            f"{self.kind} overwrites {self.expected.missing:.1%} of all values and leaves as many "
            "ticks empty, which say something; threshold_perturbation does neither",
            f"the delays that are seen have a budget of {seen:.4g} nats; the choice of a tick has "
            f"{self.internal_epsilon:.4g}",
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        return (
            delay_guarantee(
                k=self.k,
                epsilon=self.delay_law_epsilon,
                not_covered=(EMPTY_IS_UNCHOSEN,),
                adversary=ONE_VISIBLE_DELAY,
                proof=Point(
                    "visible-delay-law",
                    "TLDP specification, section 6 (G1, the visible law); the law drawn is exact",
                ),
                finite_precision_delta=0.0,
                warm_up_published=self.warm_up == "emit",
                cool_down=COOL_DOWN.of(ticks=self.k - 1),
            ),
        )

    def _exchange(self, after: State, values: Array, words: Words) -> Array:
        rows, head = self._head(after)
        after["slots"][rows, (head + self._lags(words)) % self.k] = values
        return self._leave(after)


def visible(k: int, epsilon: float) -> float:
    """Return the budget of the delays that are seen if the choice of a tick has `epsilon`."""
    _, each = lag_law(k, epsilon)
    return epsilon - 2.0 * log((k - 1) * each) - 2.0 * (k - 2) * log1p(-each)


def can_be_calibrated(k: int, epsilon: float) -> bool:
    """Tell whether `epsilon` covers the delays that are seen for some budget of the choice."""
    return _keeps(k, 1, epsilon)


def calibrated(k: int, epsilon: float) -> float:
    """Find the largest budget of the choice for which `epsilon` covers the delays that are seen.

    It is a multiple of 2^-40 nat, so that it is the same on every machine; as much is kept as a
    margin for rounding.
    """
    if not can_be_calibrated(k, epsilon):
        raise ValueError(
            f"epsilon: the delays that are seen of k = {k} have a budget above "
            f"{2.0 * (k - 1) * log(k / (k - 1)):.4g} nats, whatever the choice has, so that "
            f"{epsilon:g} cannot be kept; raise epsilon, or choose threshold_perturbation"
        )
    low, high = 1, int(epsilon * _STEPS_PER_NAT) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if _keeps(k, middle, epsilon):
            low = middle
        else:
            high = middle
    return low / _STEPS_PER_NAT


def _keeps(k: int, steps: int, epsilon: float) -> bool:
    return visible(k, steps / _STEPS_PER_NAT) <= epsilon - 1 / _STEPS_PER_NAT
