"""Temporal privacy leakage of two releases about the same people: a local one and a central one."""

from collections.abc import Callable, Sequence
from math import exp, expm1, log1p
from typing import Literal

from fugu.operators.leakage.correlation import LeakageOverTime, TemporalCorrelation, up

Topology = Literal["parallel", "serial", "disjoint", "independent"]
"""Name how two releases are connected: both of the raw data of the same people; the second one of
what the first one has released; of different people; of independent attributes of the same people.
"""
_ROUNDED_UP = 1.0 + 2.0**-48
_LARGE = 50.0
"""For so many nats e^(-2 nats) is far below the rounding of a sum, and e^nats still a double."""


def combined(
    topology: Topology,
    first: tuple[TemporalCorrelation, Sequence[float]],
    second: tuple[TemporalCorrelation, Sequence[float]],
    *,
    memoryless: bool = False,
) -> LeakageOverTime:
    """Return what is told about the value of each tick, in nats, by both releases together; with
    `serial`, by the second one alone.

    Each release is a correlation with the epsilons of its ticks. With `parallel` and `serial` both
    are about one value, so the correlation is that of the first. The first one is `memoryless` if
    what it releases of a tick depends on the value of that tick alone, and is released once.

    Claim. Every figure is an upper bound.

    - `parallel`: the epsilons of a tick add up, and one recursion follows their sum. The sum of two
      recursions is *not* a bound, although it is printed as one: L is not additive.
    - `serial`: the second release reads reports of the first only, so it tells no more than they
      do. Its own epsilon is per change of one report. A value may show in many reports of the
      first, which repeats a release or remembers a value, and every copy is perturbed anew. So
      that epsilon counts only if the first is memoryless (`in_series`). Who reads the reports,
      too, learns what the first tells, and no more.
    - `disjoint`: nobody is in both, so the larger leakage counts.
    - `independent`: the attributes say nothing about each other, and leakages add up.

    >>> rows = [[0.8, 0.2], [0.0, 1.0]]
    >>> each = TemporalCorrelation.of(rows, backward=rows), [1.0] * 5
    >>> round(combined("parallel", each, each).backward[-1], 6)
    9.147309
    >>> round(combined("independent", each, each).backward[-1], 6)
    8.516261

    Source: budget allocation specification, section 7 (thesis chapter 7, corrected). It takes the
    smaller epsilon in series, which needs a memoryless first release.
    """
    if len(first[1]) != len(second[1]):
        raise ValueError("both releases must have as many ticks")
    pairs = list(zip(first[1], second[1], strict=True))
    if topology in ("parallel", "serial"):
        spent = [per_value(topology, *pair, memoryless=memoryless) for pair in pairs]
        return first[0].over(spent)
    one, other = (correlation.over(spends) for correlation, spends in (first, second))
    joined = joining(topology)
    sides = zip(
        (one.backward, one.forward, one.total),
        (other.backward, other.forward, other.total),
        strict=True,
    )
    return LeakageOverTime(*(tuple(map(joined, a, b)) for a, b in sides))


def per_value(
    topology: Topology, first: float, second: float, *, memoryless: bool = False
) -> float:
    """Return what both releases tell about one value at its own tick, as `combined` does."""
    if topology == "serial":
        return in_series(first, second) if memoryless else first
    return joining(topology)(first, second)


def joining(topology: Topology) -> Callable[[float, float], float]:
    """Return how figures of two releases are joined: the larger one, or their sum, rounded up."""
    return max if topology == "disjoint" else up


def in_series(first: float, second: float) -> float:
    """Return what the second release tells about a value, in nats, that reads a report of it.

    It is ln((e^(first + second) + 1) / (e^first + e^second)), rounded up: less than either.

    Claim. The report depends on the value alone, and `first` bounds what it tells. What is released
    of it, however often, differs by at most `second` under a change of this report. Then the figure
    is an upper bound, and two randomized responses over one bit attain it. Proof: let p and q be
    the laws of the report under two values. A release z has probabilities between m and e^second m,
    whatever the report. The ratio of its averages under p and q is largest where these are at
    the ends: (1 + c p(S)) / (1 + c q(S)) for a set S of reports, with c = e^second - 1. It grows
    with p(S), which is at most e^first q(S), and at most 1 - e^-first (1 - q(S)). The ratio is
    largest where both limits meet, at q(S) = 1 / (1 + e^first).

    >>> round(in_series(1.0, 1.0), 6)
    0.433781

    Source: budget allocation specification, section 7, for reports of one bit; all others are ours.
    """
    smaller, larger = min(first, second), max(first, second)
    shared = exp(smaller - larger)
    if smaller > _LARGE:
        nats = smaller - log1p(shared)
    else:
        nats = log1p(expm1(smaller) * -expm1(-larger) / (1.0 + shared))
    return min(nats * _ROUNDED_UP, smaller)
