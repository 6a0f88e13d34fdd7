"""Threshold mechanism (TM): a value waits for a random free slot if its own one is taken."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from fugu.operators.mechanism import Array, Words
from fugu.operators.temporal.dispatch_law import derived_budget
from fugu.operators.temporal.selection import infeasible, select
from fugu.operators.temporal.threshold_dispatch import ThresholdDispatch


@dataclass(frozen=True, eq=False, kw_only=True)
class ThresholdPerturbation(ThresholdDispatch):
    """Let a value wait for a random free slot, but only if its own one is taken.

    Claim. In steady state, no delay is more than e^(epsilon / 2) times as likely as another one,
    with the epsilon derived from k and c0. That bounds what one release tick alone says about the
    original tick; it is not a bound on what all releases together say. Every value leaves exactly
    once, within k-1 ticks, and every tick of the steady state lets out exactly one.

    Parameters: those of `ThresholdDispatch`, as are input, release, state and errors.

    >>> from fugu.operators.trial import released
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
