"""Temporal privacy leakage of two releases about the same people: a local one and a central one."""

from collections.abc import Callable, Sequence
from math import exp, expm1, inf, log1p, nextafter
from typing import Literal

from fugu.operators.leakage.correlation import LeakageOverTime, TemporalCorrelation, up

Topology = Literal["parallel", "serial", "disjoint", "independent"]
"""Name how two releases are connected: both of the raw data of the same people; the second one of
what the first one has released; of different people; of independent attributes of the same people.
"""
_ROUNDINGS = 4


def combined(
    topology: Topology,
    first: tuple[TemporalCorrelation, Sequence[float]],
    second: tuple[TemporalCorrelation, Sequence[float]],
) -> LeakageOverTime:
    """Return what is told about the value of each tick, in nats, by both releases together; with
    `serial`, by the second one alone.

    Each release is a correlation with the epsilons of its ticks. With `parallel` and `serial` both
    are about one value, so the correlation is that of the first.

    Claim. Every figure is an upper bound.

    - `parallel`: the epsilons of a tick add up, and one recursion follows their sum. The sum of two
      recursions is *not* a bound, although it is printed as one: L is not additive.
    - `serial`: the second release reads reports of the first only, so a tick of it tells no more
      than the smaller of both epsilons. The epsilon of the second is per change of a report. Who
      reads the reports, too, learns what the first tells, and no more.
    - `disjoint`: nobody is in both, so the larger leakage counts.
    - `independent`: the attributes say nothing about each other, and leakages add up.

    >>> rows = [[0.8, 0.2], [0.0, 1.0]]
    >>> each = TemporalCorrelation.of(rows, backward=rows), [1.0] * 5
    >>> round(combined("parallel", each, each).backward[-1], 6)
    9.147309
    >>> round(combined("independent", each, each).backward[-1], 6)
    8.516261

    Source: budget allocation specification, section 7 (thesis chapter 7, corrected).
    """
    if len(first[1]) != len(second[1]):
        raise ValueError("both releases must have as many ticks")
    pairs = list(zip(first[1], second[1], strict=True))
    if topology in ("parallel", "serial"):
        return first[0].over([per_value(topology, *pair) for pair in pairs])
    one, other = (correlation.over(spends) for correlation, spends in (first, second))
    joined = joining(topology)
    sides = zip(
        (one.backward, one.forward, one.total),
        (other.backward, other.forward, other.total),
        strict=True,
    )
    return LeakageOverTime(*(tuple(map(joined, a, b)) for a, b in sides))


def per_value(topology: Topology, first: float, second: float) -> float:
    """Return what both releases tell about one value at its own tick, as `combined` does."""
    return min(first, second) if topology == "serial" else joining(topology)(first, second)


def joining(topology: Topology) -> Callable[[float, float], float]:
    """Return how figures of two releases are joined: the larger one, or their sum, rounded up."""
    return max if topology == "disjoint" else up


def of_binary_reports(local: float, central: float) -> float:
    """Return what a tick tells, in nats, where the second release reads reports of one bit.

    >>> round(of_binary_reports(1.0, 1.0), 6)
    0.433781

    It is ln((e^(local + central) + 1) / (e^local + e^central)), rounded up.

    Source: budget allocation specification, section 7.
    """
    more = expm1(local) * expm1(central) / (exp(local) + exp(central))
    nats = log1p(more)
    for _ in range(_ROUNDINGS):
        nats = nextafter(nats, inf)
    return min(nats, local, central)
