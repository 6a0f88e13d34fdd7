"""Bound the leakage of releases of which the largest spends are known, and not every one."""

from dataclasses import dataclass
from math import ceil, inf

from fugu.operators.leakage.any_start import AnyStart
from fugu.operators.leakage.combined import Topology, joining, per_value
from fugu.operators.leakage.correlation import TemporalCorrelation, up
from fugu.operators.leakage.leakage_function import LeakageFunction

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
