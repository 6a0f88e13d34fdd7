"""Backward perturbation mechanism (BPM): at every tick, one of the last k values is published."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np

from fugu.operators.mechanism import Array, Floats, Guarantee, Integers, State, Words
from fugu.operators.points import Point
from fugu.operators.temporal import costs
from fugu.operators.temporal.costs import Expected
from fugu.operators.temporal.exchanges import by_distance
from fugu.operators.temporal.guarantees import REPEATS, delay_guarantee
from fugu.operators.temporal.random_lag import RandomLag


@dataclass(frozen=True, eq=False, kw_only=True)
class BackwardPerturbation(RandomLag):
    """Publish at every tick one of the last k values.

    Claim. In steady state, no lag (how many ticks ago a released value came) is more than
    e^(epsilon / 2) times as likely as another one. That bounds what one release tick alone says; it
    is not a bound on what all releases together say. Values may be published twice, or never, and a
    value that is published k-1 ticks apart has told its tick.

    Parameters: those of `TemporalPerturbation`, as are input, release, state and errors; `epsilon`
    in nats, 0 < epsilon <= 50. Nothing is ever pending, so an epoch ends without a cool-down.

    >>> from fugu.operators.trial import released
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
        return costs.backward(self.k, self.none, self.each)

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
