"""Temporal privacy leakage: what all releases tell about one value, or about a window of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, inf, isfinite, nextafter

from fugu.operators.leakage.any_start import AnyStart
from fugu.operators.leakage.leakage_function import LeakageFunction
from fugu.operators.leakage.matrices import Matrix, transition_matrix


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
