"""Compute temporal privacy leakage: what releases of all ticks tell about one of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, inf, isfinite, nextafter

import numpy as np

from fugu.operators.budget_units import charge_of_ratio, exact_exp, in_nats
from fugu.operators.leakage.any_start import AnyStart
from fugu.operators.leakage.leakage_function import (
    LeakageFunction,
    Matrix,
    transition_matrix,
)
from fugu.operators.mechanism import Floats, Integers


@dataclass(frozen=True)
class LeakageOverTime:
    """State the leakage about the value of each tick, in nats.

    It is by releases before and at the tick, by those at it and after it, and by all.
    """

    backward: tuple[float, ...]
    forward: tuple[float, ...]
    total: tuple[float, ...]


@dataclass(frozen=True)
class TemporalCorrelation:
    """Bound what an adversary with a Markov model learns from all releases over time.

    The adversary knows everything about everybody else, and how the victim's values follow each
    other: P_F forwards and P_B backwards in time. Tick t tells at most epsilon_t nats about the
    value of tick t by itself. Then all releases up to tick t tell at most alpha_B(t) about it, and
    those from t on alpha_F(t):

        alpha_B(t) = L_{P_B}(alpha_B(t-1)) + epsilon_t
        alpha_F(t) = L_{P_F}(alpha_F(t+1)) + epsilon_t

    and all together alpha_B(t) + alpha_F(t) - epsilon_t. About the values of `window` ticks, t to
    u, they tell at most alpha_B(t) + alpha_F(u) + what the ticks between t and u cost. This is no
    w-event guarantee and no differential privacy for everybody: it is relative to these two
    matrices.

    Claim. Every figure is an upper bound: sums are rounded up, as L is. Leakages grow with every
    spent epsilon, so what holds for the largest spend of a tick holds for all smaller ones; and
    what is known about a past tick grows as more is released. P_B depends on the law of the value
    before, and so on where a person began. Without a given P_B the claim holds for every law of the
    first value, and alpha_B follows `AnyStart`. With one it is relative to that P_B at all ticks.

    Epsilons are in nats under a *change* of the value. A mechanism whose sensitivity 1 is that of
    adding or removing a user leaks twice its epsilon under a change.

    >>> rows = [[0.7, 0.3], [0.4, 0.6]]
    >>> often = TemporalCorrelation.of(rows, backward=rows)
    >>> over_time = often.over([1.0, 1.0, 1.0])
    >>> [[round(nats, 4) for nats in side] for side in (over_time.backward, over_time.total)]
    [[1.0, 1.2928, 1.3662], [1.3662, 1.5856, 1.3662]]
    >>> round(often.limit(1.0), 6), round(often.limit(1.0, window=10), 6)
    (1.776388, 10.776388)
    >>> round(TemporalCorrelation.of(rows).limit(1.0), 6)
    1.801326

    Source: budget allocation specification, section 5; Cao et al. 2017 and 2019.
    """

    backward: LeakageFunction | AnyStart
    forward: LeakageFunction

    @classmethod
    def of(cls, forward: Matrix, backward: Matrix | None = None) -> "TemporalCorrelation":
        """Take square matrices; without `backward` nothing is assumed about the first value.

        `ValueError` names the matrix, the row and the column that cannot be.
        """
        matrix = transition_matrix(forward, "forward matrix")
        ahead = LeakageFunction.of(matrix)
        if backward is None:
            return cls(AnyStart.of(matrix), ahead)
        return cls(LeakageFunction.of(transition_matrix(backward, "backward matrix")), ahead)

    def over(self, spends: Sequence[float]) -> LeakageOverTime:
        """Return the leakage about single ticks, event level, when tick t spends `spends[t]`."""
        backward = recursion(self.backward, spends)
        forward = recursion(self.forward, spends[::-1])[::-1]
        sums = zip(backward, forward, spends, strict=True)
        return LeakageOverTime(
            tuple(backward), tuple(forward), tuple(up(b, f, -spent) for b, f, spent in sums)
        )

    def windows(self, spends: Sequence[float], window: int) -> tuple[float, ...]:
        """Return the leakage about every `window` consecutive ticks, or about a shorter stream.

        With as many ticks as the stream has, this is at most `user_level`.
        """
        _require_window(window)
        single = self.over(spends)
        if window == 1:
            return single.total
        last = min(window, len(spends)) - 1
        if last <= 0:
            return single.total
        return tuple(
            up(
                single.backward[first],
                *spends[first + 1 : first + last],
                single.forward[first + last],
            )
            for first in range(len(spends) - last)
        )

    def limit(self, epsilon: float, window: int = 1) -> float:
        """Return the supremum of the leakage about a tick, or a window, if no tick spends more.

        It holds however long the stream is, and is infinite without a bound.
        """
        _require_window(window)
        if not isfinite(epsilon) or epsilon <= 0.0:
            raise ValueError(f"epsilon: must be a number of nats above 0, not {epsilon}")
        ends = (self.backward.supremum(epsilon), self.forward.supremum(epsilon))
        return up(*ends, (window - 2) * epsilon)


def user_level(spends: Sequence[float]) -> float:
    """Return the leakage about all values of a stream together, whatever the correlation."""
    return up(*spends)


def recursion(function: LeakageFunction | AnyStart, spends: Sequence[float]) -> list[float]:
    """Return alpha(t) = L(alpha(t-1)) + spends[t], or the least over more steps, rounded up."""
    leaked: list[float] = []
    for tick, spent in enumerate(spends):
        if not isfinite(spent) or spent < 0.0:
            raise ValueError(f"epsilon: must be a number of nats, 0 or more, not {spent}")
        earlier = (
            up(function.after(leaked[-steps], steps), *spends[tick - steps + 1 : tick + 1])
            for steps in function.steps
            if steps <= tick
        )
        leaked.append(min(earlier, default=spent))
    return leaked


def up(*terms: float) -> float:
    """Return the sum, rounded up."""
    total = fsum(terms)
    short = isfinite(total) and fsum((*terms, -total)) > 0.0
    return nextafter(total, inf) if short else total


def _require_window(window: int) -> None:
    """Raise `ValueError` unless it is a number of ticks."""
    if window < 1:
        raise ValueError(f"window: must be at least 1 tick, not {window}")


_ROUNDED_DOWN = 1.0 - 2.0**-48
_SMALLEST_BELIEF = 2.0**-1000


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
        return np.where(after < _SMALLEST_BELIEF, 0.0, np.maximum(after, self._least))

    def leaked(self, state: Floats) -> Integers:
        """Return alpha_B of the newest tick, in units of 2^-40 nat."""
        with np.errstate(divide="ignore"):
            return charge_of_ratio(1.0 / state)

    @cached_property
    def _least(self) -> float:
        if self.most is None:
            return 0.0
        return self.correlation.backward.least_left(in_nats(self.most)) * _ROUNDED_DOWN
