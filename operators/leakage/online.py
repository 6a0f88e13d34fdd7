"""Leakage about the newest tick while a stream runs."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.budget_units import charge_of_ratio, exact_exp, in_nats
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.mechanism import Floats, Integers

_ROUNDED_DOWN = 1.0 - 2.0**-48
_SMALLEST = 2.0**-1000


@dataclass(frozen=True, eq=False)
class OnlineLeakage:
    """Follow the backward recursion of many streams, one tick at a time.

    The state of a stream is one number, e^-alpha_B, so that a step needs no logarithm and gives the
    same bytes on every machine: with y for the state, and q and d for the sums of
    `LeakageFunction`,

        y' = e^-spent * min over (q, d) of (d + (1 - d) y) / (q + (1 - q) y)

    with a backward matrix. For every start it follows L_1 of `AnyStart` instead, and is never above
    the supremum for ticks that spend at most `most` units.

    Claim. `leaked` is never below the exact alpha_B: every step rounds the state down. Beyond
    1000 ln 2 = 693 nats it says `LARGEST_CHARGE`, which stands for no bound at all. alpha_F needs
    releases that are still to come.

    Spends are in units of 2^-40 nat, under a change of the value. Rows are streams.

    >>> from fugu.operators.budget_units import units_of
    >>> rows = [[0.6, 0.4], [0.1, 0.9]]
    >>> online = OnlineLeakage(TemporalCorrelation.of(rows, backward=rows))
    >>> state = online.start(rows=1)
    >>> for _ in range(2):
    ...     state = online.advance(state, np.array([units_of(1.0)]))
    >>> round(in_nats(int(online.leaked(state)[0])), 6)
    1.549948

    Source: budget allocation specification, section 5.
    """

    correlation: TemporalCorrelation
    most: int | None = None

    def start(self, rows: int) -> Floats:
        """Return the state of streams that have released nothing."""
        return np.ones(rows)

    def advance(self, state: Floats, spent: Integers) -> Floats:
        """Return the state after a tick that spends `spent`; `state` is not modified."""
        left = self.correlation.backward.left_after_step(state)
        costs, row_of = np.unique(spent, return_inverse=True)
        kept = np.array([exact_exp(-in_nats(int(cost))) for cost in costs])
        after: Floats = left * kept[row_of] * _ROUNDED_DOWN
        return np.where(after < _SMALLEST, 0.0, np.maximum(after, self._least))

    def leaked(self, state: Floats) -> Integers:
        """Return alpha_B of the newest tick, in units of 2^-40 nat."""
        with np.errstate(divide="ignore"):
            return charge_of_ratio(1.0 / state)

    @cached_property
    def _least(self) -> float:
        if self.most is None:
            return 0.0
        return self.correlation.backward.least_left(in_nats(self.most)) * _ROUNDED_DOWN
