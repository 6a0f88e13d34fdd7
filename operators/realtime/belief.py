"""Believe what a figure is, and what a buffer remembers of those before it: a Kalman filter."""

from typing import NamedTuple

import numpy as np

from fugu.operators.mechanism import Floats, Integers, State

_LONGEST_GAP = 2**30
"""Ticks after which a correlation of .9999 has nothing left."""


class Belief(NamedTuple):
    """Hold estimates of a figure and of its buffer, from their means, and how sure they are.

    `own` is the squared error of the figure, `cross` its product with that of the buffer, and
    `determinant` own * other - cross^2, with the squared error `other` of the buffer. No squared
    error is the difference of two: so none cancels or falls below 0, however large or small the
    noise is beside the figures.

    Source: Kalman 1960, for the deviation x of a figure and the buffer b, with a measurement x +
    weight * b + noise.
    """

    estimate: Floats
    held: Floats
    own: Floats
    cross: Floats
    determinant: Floats

    @classmethod
    def first(cls, variance: Floats) -> "Belief":
        """Return what is believed before the first measurement; the buffer is known to be empty."""
        none = np.zeros_like(variance)
        return cls(none, none, variance, none, none)

    @classmethod
    def of(cls, state: State) -> "Belief":
        """Return the belief that a state holds."""
        return cls(*(state[name] for name in cls._fields))

    def emptied(self) -> "Belief":
        """Return the belief once the buffer has been emptied, in public."""
        none = np.zeros_like(self.own)
        return Belief(self.estimate, none, self.own, none, none)

    def measured(
        self, found: Floats, weight: Floats | float, noise: Floats | float
    ) -> tuple["Belief", Floats]:
        """Return the belief after a measurement `found` with this variance of noise, and how far
        from its prediction that was, squared, relative to what was expected."""
        x, b, own, cross, determinant = self
        seen = own + weight * cross
        held = cross + weight * (cross * cross + determinant) / own
        spread = (seen * seen + weight * weight * determinant) / own + noise
        surprise = found - (x + weight * b)
        after = Belief(
            x + seen / spread * surprise,
            b + held / spread * surprise,
            (own * noise + weight * weight * determinant) / spread,
            (cross * noise - weight * determinant) / spread,
            determinant * (noise / spread),
        )
        return after, surprise * surprise / spread

    def gone_on(
        self, correlation: Floats | float, factor: Floats | float, variance: Floats | float
    ) -> "Belief":
        """Return the belief one measurement later: the buffer b becomes factor * b + x, and x
        itself correlation * x and what moves it, so that its variance stays."""
        x, b, own, cross, determinant = self
        kept = correlation * correlation
        moves = (1.0 - kept) * variance
        together = own + factor * cross
        other = (together * together + factor * factor * determinant) / own
        return Belief(
            correlation * x,
            factor * b + x,
            kept * own + moves,
            correlation * together,
            kept * factor * factor * determinant + moves * other,
        )


def left_of(correlation: float, ticks: Integers) -> Floats:
    """Return what is left of a correlation after so many ticks: a power, by multiplication alone.

    >>> left_of(0.5, np.array([1, 2, 5])).tolist()
    [0.5, 0.25, 0.03125]
    """
    rest, left, power = np.minimum(ticks, _LONGEST_GAP), np.ones(ticks.shape), correlation
    while rest.any():
        left = np.where(rest & 1, left * power, left)
        rest, power = rest >> 1, power * power
    return left
