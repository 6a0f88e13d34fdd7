"""A local and a central release about the same people: how they are wired decides what leaks.

Source: budget allocation specification, section 7.
"""

from collections.abc import Callable, Sequence
from math import exp, log1p

from fugu.operators.leakage.correlation import LeakageOverTime, TemporalCorrelation, up
from fugu.operators.leakage.leakage_function import ROUNDING


def parallel(
    correlation: TemporalCorrelation, local: Sequence[float], central: Sequence[float]
) -> LeakageOverTime:
    """Return the leakage where both read the same values of the same user.

    Budgets of a tick add up, `local[t]` and `central[t]` nats, and there is *one* recursion over
    the sums. Two recursions that are added afterwards are not a bound.

    >>> rows = [[0.8, 0.2], [0.0, 1.0]]
    >>> round(parallel(TemporalCorrelation.of(rows, rows), [1.0] * 5, [1.0] * 5).total[-1], 6)
    9.147309
    """
    return correlation.over([up(*both) for both in zip(local, central, strict=True)])


def serial(
    correlation: TemporalCorrelation, local: Sequence[float], central: Sequence[float]
) -> LeakageOverTime:
    """Return the leakage where the central release reads local ones, and nothing else.

    It costs `central[t]` per change of one of them, so that a tick costs at most the smaller of the
    two.
    """
    return correlation.over([min(both) for both in zip(local, central, strict=True)])


def serial_bit(local: float, central: float) -> float:
    """Return what a tick costs in `serial` where the local release is one bit, rounded up.

    ln[(e^(local + central) + 1) / (e^local + e^central)], without large exponentials.

    >>> round(serial_bit(1.0, 1.0), 6)
    0.433781
    """
    less, more = sorted((local, central))
    exact = less + log1p(exp(-less - more)) - log1p(exp(less - more))
    return min(less, exact + ROUNDING * (1.0 + less))


def disjoint_users(local: LeakageOverTime, central: LeakageOverTime) -> LeakageOverTime:
    """Return the leakage where each user is in one of them only.

    The larger of the two leakages holds for everybody.
    """
    return _tick_by_tick(max, local, central)


def independent_attributes(local: LeakageOverTime, central: LeakageOverTime) -> LeakageOverTime:
    """Return the leakage about attributes that tell nothing about each other at any time.

    Leakages add up, each with a correlation of its own.

    >>> rows = [[0.8, 0.2], [0.0, 1.0]]
    >>> alone = TemporalCorrelation.of(rows, rows).over([1.0] * 5)
    >>> round(independent_attributes(alone, alone).total[-1], 6)
    8.516261
    """
    return _tick_by_tick(up, local, central)


def _tick_by_tick(
    join: Callable[[float, float], float], one: LeakageOverTime, other: LeakageOverTime
) -> LeakageOverTime:
    def joined(first: Sequence[float], second: Sequence[float]) -> tuple[float, ...]:
        return tuple(join(*both) for both in zip(first, second, strict=True))

    return LeakageOverTime(
        joined(one.backward, other.backward),
        joined(one.forward, other.forward),
        joined(one.total, other.total),
    )
