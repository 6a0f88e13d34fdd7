"""A local and a central release about the same people: what both let out over time.

How they are wired decides, and not which of them is correlated:

- `parallel`: both read the same values of the same user. Budgets of a tick add up, and there is
  *one* recursion over the sums. Two recursions that are added afterwards are not a bound.
- `serial`: the central one reads what the local one released, and nothing else. A tick costs at
  most the smaller of the two.
- `disjoint_users`: nobody is in both. The larger of the two leakages holds for everybody.
- `independent_attributes`: two attributes of one user that tell nothing about each other. Leakages
  add up, each with a correlation of its own.

>>> rows = [[0.8, 0.2], [0.0, 1.0]]
>>> absorbing = TemporalCorrelation.of(rows, rows)
>>> ones = [1.0] * 5
>>> round(parallel(absorbing, ones, ones).total[-1], 6)
9.147309
>>> alone = absorbing.over(ones)
>>> round(independent_attributes(alone, alone).total[-1], 6)
8.516261

Source: budget allocation specification, section 7.
"""

from collections.abc import Callable, Sequence
from math import exp, log1p

from fugu.operators.leakage.correlation import LeakageOverTime, TemporalCorrelation, up
from fugu.operators.leakage.leakage_function import ROUNDING


def parallel(
    correlation: TemporalCorrelation, local: Sequence[float], central: Sequence[float]
) -> LeakageOverTime:
    """Both read the same values: `local[t]` and `central[t]` nats are spent on tick t."""
    return correlation.over([up(*both) for both in zip(local, central, strict=True)])


def serial(
    correlation: TemporalCorrelation, local: Sequence[float], central: Sequence[float]
) -> LeakageOverTime:
    """The central release reads local ones, and costs `central[t]` per change of one of them."""
    return correlation.over([min(both) for both in zip(local, central, strict=True)])


def serial_bit(local: float, central: float) -> float:
    """What a tick costs in `serial` where the local release is one bit, in nats, rounded up.

    ln[(e^(local + central) + 1) / (e^local + e^central)], without large exponentials.

    >>> round(serial_bit(1.0, 1.0), 6)
    0.433781
    """
    less, more = sorted((local, central))
    exact = less + log1p(exp(-less - more)) - log1p(exp(less - more))
    return min(less, exact + ROUNDING * (1.0 + less))


def disjoint_users(local: LeakageOverTime, central: LeakageOverTime) -> LeakageOverTime:
    """Each user is in one of them only."""
    return _tick_by_tick(max, local, central)


def independent_attributes(local: LeakageOverTime, central: LeakageOverTime) -> LeakageOverTime:
    """The same users, with attributes that are independent of each other at all times."""
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
