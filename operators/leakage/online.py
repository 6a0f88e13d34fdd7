"""Leakage about the newest tick while a stream runs, and how large it can still become.

The state of a stream is one number, e^-alpha_B, so that a step needs no logarithm and gives the
same bytes on every machine: with y for the state, and q and d for the sums of `LeakageFunction`,

    y' = e^-spent * min over (q, d) of (d + (1 - d) y) / (q + (1 - q) y)

Claim. `leaked` is never below the exact alpha_B: every step rounds the state down. Beyond
1000 ln 2 = 693 nats it says `LARGEST_CHARGE`, which stands for no bound at all.

alpha_F needs releases that are still to come; `at_most` bounds what they can add.

Parameters: spends in units of 2^-40 nat, under a change of the value. Rows are streams.

>>> from fugu.operators.budget_units import units_of
>>> online = OnlineLeakage(TemporalCorrelation.of([[0.6, 0.4], [0.1, 0.9]]))
>>> state = online.start(rows=1)
>>> for _ in range(2):
...     state = online.advance(state, np.array([units_of(1.0)]))
>>> round(in_nats(int(online.leaked(state)[0])), 6)
1.549948
>>> online.at_most(state, largest_epsilon=1.0).round(6).tolist()
[2.699073]

Source: budget allocation specification, section 5.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from fugu.operators.budget_units import (
    LARGEST_CHARGE,
    UNITS_PER_NAT,
    charge_of_ratio,
    exact_exp,
    in_nats,
)
from fugu.operators.leakage.correlation import TemporalCorrelation, require_epsilon
from fugu.operators.mechanism import Floats, Integers

_ROUNDED_DOWN = 1.0 - 2.0**-48
_SMALLEST = 2.0**-1000


@dataclass(frozen=True, eq=False)
class OnlineLeakage:
    """The backward recursion of many streams at once, one tick at a time."""

    correlation: TemporalCorrelation

    def start(self, rows: int) -> Floats:
        """The state of streams that have released nothing."""
        return np.ones(rows)

    def advance(self, state: Floats, spent: Integers) -> Floats:
        """The state after a tick that spends `spent`; `state` is not modified."""
        more, less = (
            self.correlation.backward.more[:, None],
            self.correlation.backward.less[:, None],
        )
        left = (less + (1.0 - less) * state) / (more + (1.0 - more) * state)
        left = np.maximum(state, left.min(axis=0, initial=1.0))
        costs, row_of = np.unique(spent, return_inverse=True)
        kept = np.array([exact_exp(-in_nats(int(cost))) for cost in costs])
        after: Floats = left * kept[row_of] * _ROUNDED_DOWN
        return np.where(after < _SMALLEST, 0.0, after)

    def leaked(self, state: Floats) -> Integers:
        """alpha_B of the newest tick, in units of 2^-40 nat."""
        with np.errstate(divide="ignore"):
            return charge_of_ratio(1.0 / state)

    def at_most(self, state: Floats, largest_epsilon: float) -> Floats:
        """What all releases will ever tell about the newest tick, in nats, if no tick to come
        spends more than `largest_epsilon`; infinite without a bound."""
        require_epsilon(largest_epsilon)
        ahead = self.correlation.forward(self.correlation.forward.supremum(largest_epsilon))
        leaked = self.leaked(state)
        bound = np.nextafter(leaked / UNITS_PER_NAT + ahead, inf)
        return np.where(leaked == LARGEST_CHARGE, inf, bound)
