"""Bound the temporal privacy leakage of several releases about the same people together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, exp, expm1, inf, isfinite, log1p
from typing import Literal

from fugu.operators.guarantee import Guarantee
from fugu.operators.leakage.any_start import AnyStart
from fugu.operators.leakage.correlation import LeakageOverTime, TemporalCorrelation, up
from fugu.operators.leakage.leakage_function import LeakageFunction

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


_HALVINGS = 100
_LARGEST = 2.0**20
"""No fixed point is looked for beyond so many nats."""


@dataclass(frozen=True)
class Telling:
    """Bound what a release tells about the value of any tick, in nats, however it spends.

    Every tick tells at most `nats` about its own value. For each (w, E) of `windows`, any w ticks
    in a row tell at most E together, and all ticks at most `whole_life`, each about all their
    values and whatever the correlation. It is `memoryless` if what is released of a tick depends on
    the value of that tick alone, and is released once.

    Claim. Figures are upper bounds for every series of spends within these limits. The leakage
    alpha of all ticks up to t about the value of t obeys alpha(t) = L(alpha(t-1)) + spend(t). L has
    slopes from 0 to 1, so that L(a + b) <= L(a) + b, and so alpha(t) <= L^w(alpha(t-w)) + E, where
    L^w is L applied w times, or L_w of `AnyStart`: a window costs no more than E, and what came
    before it fades through all of its steps.

    >>> rows = [[0.6, 0.4], [0.1, 0.9]]
    >>> each = Telling(TemporalCorrelation.of(rows, backward=rows), 0.05)
    >>> both = together("parallel", each, each)
    >>> round(both.limit, 6), round(2 * each.limit, 6)
    (0.311988, 0.306009)

    Source: budget allocation specification, sections 5 and 7; the bound of windows is ours.
    """

    correlation: TemporalCorrelation
    nats: float
    windows: tuple[tuple[int, float], ...] = ()
    whole_life: float = inf
    memoryless: bool = False

    def after(self, ticks: int) -> float:
        """Return the most that so many ticks tell about any one of their values."""
        earlier, _ = self._followed(self.correlation.backward, ticks)
        _, forward = self._followed(self.correlation.forward, ticks)
        most = max(up(before, now) for before, now in zip(earlier, reversed(forward), strict=True))
        sums = (up(*[nats] * ceil(ticks / window)) for window, nats in self.windows)
        return min([most, self.whole_life, *sums])

    @property
    def limit(self) -> float:
        """Return the same of any number of ticks; infinity where there is no bound."""
        backward = self._supremum(self.correlation.backward)
        forward = self._supremum(self.correlation.forward)
        if inf in (backward, forward):
            return self.whole_life
        both = up(self.correlation.backward(backward), forward)
        return min(both, self.correlation.limit(self.nats), self.whole_life)

    def _followed(
        self, function: LeakageFunction | AnyStart, ticks: int
    ) -> tuple[list[float], list[float]]:
        """Return what is told about the value of each tick: by ticks before it, and with it."""
        before: list[float] = []
        told: list[float] = []
        for tick in range(ticks):
            earlier = (
                up(function.after(told[-steps], steps), *[self.nats] * (steps - 1))
                for steps in function.steps
                if steps <= tick
            )
            before.append(min(earlier, default=0.0))
            bounds = [up(before[-1], self.nats)]
            for window, nats in self.windows:
                known = told[tick - window] if tick >= window else 0.0
                bounds.append(up(function.after(known, window), nats))
            told.append(min(bounds))
        return before, told

    def _supremum(self, function: LeakageFunction | AnyStart) -> float:
        fixed = (_fixed_point(function, *window) for window in self.windows)
        return min([function.supremum(self.nats), *fixed])


def together(topology: Topology, first: Telling, second: Telling) -> Telling | None:
    """Return both releases as one, where both are about one value; None where they are not.

    With `serial` it is the second one, of what the first has released. Its own limits of ticks and
    of windows are per change of reports, of which a value changes one in its own tick only if the
    first is memoryless. That of its whole life holds for all reports, and so for all values.
    """
    memoryless = first.memoryless
    nats = per_value(topology, first.nats, second.nats, memoryless=memoryless)
    match topology:
        case "parallel":
            windows = (*_beside(first, second), *_beside(second, first))
            return Telling(
                first.correlation, nats, windows, up(first.whole_life, second.whole_life)
            )
        case "serial":
            windows = (*first.windows, *(second.windows if memoryless else ()))
            lives = min(first.whole_life, second.whole_life)
            return Telling(first.correlation, nats, windows, lives)
        case _:
            return None


def combined_after(topology: Topology, first: Telling, second: Telling, ticks: int) -> float:
    """Return the most that so many ticks of both tell about one value (`combined`)."""
    both = together(topology, first, second)
    if both is None:
        return joining(topology)(first.after(ticks), second.after(ticks))
    if topology == "serial":
        return both.after(ticks)
    lives = up(first.whole_life, second.after(ticks)), up(second.whole_life, first.after(ticks))
    return min(both.after(ticks), *lives)


def combined_limit(topology: Topology, first: Telling, second: Telling) -> float:
    """Return the same of any number of ticks; infinity where there is no bound."""
    both = together(topology, first, second)
    if both is None:
        return joining(topology)(first.limit, second.limit)
    if topology == "serial":
        return both.limit
    return min(both.limit, up(first.whole_life, second.limit), up(second.whole_life, first.limit))


def _beside(one: Telling, other: Telling) -> list[tuple[int, float]]:
    """Return what both tell in each window of the first, which so many of the second cover."""
    return [
        (window, up(nats, *[more] * ceil(window / width)))
        for window, nats in one.windows
        for width, more in other.windows
    ]


def _fixed_point(function: LeakageFunction | AnyStart, window: int, nats: float) -> float:
    """Return a number that no leakage exceeds which windows of so many nats add to."""
    low, high = 0.0, _LARGEST
    if up(function.after(high, window), nats) > high:
        return inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if up(function.after(middle, window), nats) > middle:
            low = middle
        else:
            high = middle
    return high


_WITHOUT_A_MODEL = ("ldp", "dp", "w-event-ldp", "w-event-dp")


def about_one_value(guarantees: Sequence[Guarantee]) -> float | None:
    """Return the nats of one release, or of a window that holds it; None where none are promised.

    A value changes into another one. Where only a contribution that comes or goes is covered, that
    is two changes. A promise with a delta of its own bounds no leakage.

    >>> from fugu.operators.responses.generalized_randomized_response import (
    ...     GeneralizedRandomizedResponse,
    ... )
    >>> about_one_value(GeneralizedRandomizedResponse(2, epsilon=1.0).guarantees())
    1.0
    """
    for guarantee in guarantees:
        pure = guarantee.delta == 0.0 and guarantee.delta_per_release == 0.0
        bounded = guarantee.sound and isfinite(guarantee.epsilon) and pure
        if guarantee.notion in _WITHOUT_A_MODEL and bounded:
            return guarantee.epsilon * (2 if guarantee.neighbours.change == "presence" else 1)
    return None


def about_windows(guarantees: Sequence[Guarantee]) -> tuple[int, float] | None:
    """Return a number of ticks, or records, and the nats of any so many in a row; None where no
    promise is about windows."""
    for guarantee in guarantees:
        nats = about_one_value([guarantee])
        if guarantee.per == "window" and guarantee.window is not None and nats is not None:
            return guarantee.window, nats
    return None


def about_a_life(guarantees: Sequence[Guarantee]) -> float | None:
    """Return the same of all releases of a stream together; None where nothing limits them."""
    return about_one_value([one for one in guarantees if one.per == "stream"])
