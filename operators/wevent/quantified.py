"""Quantified budgets: the w-event strategy whose budgets keep a bound on temporal leakage."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.columns import encode_fields
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.inversion import epsilons_for, largest_epsilon
from fugu.operators.mechanism import State
from fugu.operators.wevent import allocation
from fugu.operators.wevent.allocation import Booleans, Offer
from fugu.operators.wevent.strategy import Strategy


@dataclass(frozen=True)
class Declared(allocation.Rule):
    """Offer what is declared for the first tick, the last one if there is one, and all others."""

    first: int = 0
    each: int = 0
    last: int = 0
    horizon: int | None = None

    decides: ClassVar[bool] = False

    def _most(self) -> int:
        return self.epsilon

    @property
    def largest(self) -> int:
        return max(self.first, self.each, self.last)

    def offer(self, state: State, flags: Booleans) -> Offer:
        tick = state["tick"]
        publication = np.where(tick == 0, self.first, self.each)
        if self.horizon is not None:
            publication = np.where(tick == self.horizon - 1, self.last, publication)
            publication = np.where(tick >= self.horizon, 0, publication)
        return self._offer(publication)


@dataclass(frozen=True, eq=False)
class Quantified(Strategy):
    """Publish every tick with a budget that a bound on temporal leakage allows.

    Claim. As for `Uniform`, where epsilon is what the ticks of a window spend. And an adversary
    with the Markov model that the budgets were found with learns at most alpha nats about any one
    tick of a person from all releases together, wherever the person began. With a given backward
    matrix that is so for those who believe in it. With a `horizon` the first and the last tick have
    few neighbours, and may spend more.

    Parameters: those of `Strategy`, and `first`, `each` and `last`, what these ticks spend, in
    units of 2^-40 nat; `horizon` in ticks, after which nothing is published, or None for a stream
    without an end. `for_leakage` finds all of them. Input, release and errors: as for `Strategy`.

    >>> often = TemporalCorrelation.of([[0.7, 0.3], [0.4, 0.6]])
    >>> endless = Quantified.for_leakage(often, 1.0, bins=1, window=10, sensitivity=2)
    >>> round(endless.epsilon / 10, 6)
    0.539525
    >>> short = Quantified.for_leakage(often, 1.0, bins=1, window=4, sensitivity=2, horizon=4)
    >>> [round(units / 2**40, 6) for units in (short.first, short.each, short.last)]
    [0.770719, 0.539525, 0.768806]

    Source: PBA specification, section 6 (inversion, finite horizon); Cao et al. 2019.
    """

    first: int = 0
    each: int = 0
    last: int = 0
    horizon: int | None = None

    kind: ClassVar[str] = "quantified"
    implementation: ClassVar[int] = 3
    rule_class: ClassVar[type[allocation.Rule]] = Declared
    claim: ClassVar[str] = "a window spends what its ticks are declared to spend"
    proof: ClassVar[str] = "PBA specification, section 6; sums of declared budgets"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("first", "each", "last"):
            if getattr(self, name) < self.sensitivity:
                raise ValueError(f"{name}: must be at least {self.sensitivity} units, a grid step")
        if self.horizon is not None and self.horizon < 1:
            raise ValueError(f"horizon: must be at least 1 tick, not {self.horizon}")

    @classmethod
    def for_leakage(
        cls,
        correlation: TemporalCorrelation,
        alpha: float,
        *,
        bins: int,
        window: int,
        sensitivity: int,
        doubled: bool = False,
        horizon: int | None = None,
    ) -> Self:
        """Find the largest budgets that keep the leakage about any tick at or below `alpha` nats.

        `doubled`: noise is for users who come or go, and a change leaks twice what is spent.
        """
        if horizon is None:
            each = _units(largest_epsilon(correlation, alpha), doubled)
            first, last, ticks = each, each, window
        else:
            spends = [
                _units(epsilon, doubled) for epsilon in epsilons_for(correlation, alpha, horizon)
            ]
            first, last, ticks = spends[0], spends[-1], min(window, horizon)
            each = spends[len(spends) // 2]
        most = max(first, last) + (ticks - 1) * each
        if horizon is not None and 2 <= horizon <= window:
            most = first + last + (horizon - 2) * each
        epsilon = most / UNITS_PER_NAT
        return cls(bins, window, epsilon, sensitivity, None, first, each, last, horizon)

    def declared(self, ticks: int) -> list[int]:
        """Return what the first so many ticks spend, in units."""
        spends = [self.first, *[self.each] * (ticks - 1)]
        if self.horizon is not None and ticks == self.horizon > 1:
            spends[-1] = self.last
        return spends

    def _rule(self, epsilon: int, smallest: int) -> allocation.Rule:
        declared = (self.first, self.each, self.last, self.horizon)
        return Declared(self.window, epsilon, smallest, self.cap, *declared)

    def _identity(self) -> bytes:
        horizon = -1 if self.horizon is None else self.horizon
        return encode_fields(self.first, self.each, self.last, horizon)


def _units(epsilon: float, doubled: bool) -> int:
    return int(Fraction(epsilon) * UNITS_PER_NAT / (2 if doubled else 1))
