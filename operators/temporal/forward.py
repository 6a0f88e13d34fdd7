"""Forward perturbation mechanism (FPM): every value chooses one of k ticks."""

from dataclasses import dataclass
from functools import cached_property
from math import log, log1p
from typing import ClassVar, Literal

import numpy as np

from fugu.operators.mechanism import Array, Floats, Guarantee, State, Words
from fugu.operators.points import Point
from fugu.operators.temporal import costs
from fugu.operators.temporal.costs import Expected
from fugu.operators.temporal.guarantees import (
    COOL_DOWN,
    EMPTY_IS_UNCHOSEN,
    ONE_VISIBLE_DELAY,
    delay_guarantee,
)
from fugu.operators.temporal.random_lag import RandomLag, lag_law

Calibrate = Literal["nominal", "visible"]

_STEPS_PER_NAT = 2**40


@dataclass(frozen=True, eq=False, kw_only=True)
class ForwardPerturbation(RandomLag):
    """Let every value choose one of k ticks, at which it may be overwritten.

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
        return costs.forward(self.k, self.none, self.each)

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
