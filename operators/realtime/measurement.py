"""Measuring a tick: discrete Gaussian noise of a given precision on every bin.

Precision is the number s of grid steps that the sensitivity has: one changed bin moves by s steps
exactly, whatever its values are, so nothing is lost by rounding, and `changed` bins cost
changed * s^2 / 2^29 of rho. The noise has a deviation of 2^14 steps.

>>> from operators.randomness import DrawScope, tick_position
>>> from operators.secret import Secret
>>> scope = DrawScope(Secret(bytes(32)), "demo", "real", 1, bytes(32))
>>> draws = scope.draws([b"zones"], [tick_position("vitals", 1)])
>>> coarse = Measurement(sensitivity=1)
>>> coarse.noisy(np.array([[500, 0]]), np.array([1000]), draws).round(1).tolist()
[[519.8, 29.4]]
>>> coarse.deviation(1000)
16.384

Source: noise specification, sections 2 and 4.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import nextafter

import numpy as np

from operators.mechanism import Draws, Floats, Integers
from operators.noise.discrete_gaussian import PRECISION
from operators.noise.gaussian import GaussianNoise
from operators.randomness import draws_of
from operators.wevent.strategy import LARGEST_VALUE


@dataclass(frozen=True)
class Measurement:
    """Of vectors of which one person changes each bin by at most `sensitivity` units."""

    sensitivity: int

    def noisy(self, values: Integers, steps: Integers, draws: Draws) -> Floats:
        """`values (rows, bins)` with noise of the precision `steps (rows,)`; 0 where that is 0."""
        noisy = np.zeros(values.shape)
        for precision in np.unique(steps[steps > 0]).tolist():
            rows = np.flatnonzero(steps == precision)
            noise = _noise(self.sensitivity, precision)
            points = noise.add(values[rows], draws_of(draws, rows, len(values)))
            noisy[rows] = noise.grid.value(points)
        return noisy

    def deviation(self, steps: int) -> float:
        """Of the noise, in units."""
        return float(_deviation(self.sensitivity, steps))

    def variance(self, steps: Integers) -> Floats:
        """Of the noise, in squared units; `steps` are positive."""
        most = self.deviation(1)
        precision = steps.astype(np.float64)
        return most * most / (precision * precision)

    def warning(self, steps: int) -> str | None:
        """What to know about a precision of few steps."""
        return _noise(self.sensitivity, steps).warning


def _deviation(sensitivity: int, steps: int) -> Fraction:
    return Fraction(sensitivity << PRECISION, steps)


@lru_cache(maxsize=1024)
def _noise(sensitivity: int, steps: int) -> GaussianNoise:
    """The noise whose sensitivity is so many steps: its deviation is rounded down to a double."""
    exact = _deviation(sensitivity, steps)
    deviation = float(exact)
    if deviation > exact:
        deviation = nextafter(deviation, 0.0)
    noise = GaussianNoise(sensitivity, deviation, -LARGEST_VALUE, LARGEST_VALUE)
    assert noise.index_sensitivity == steps
    return noise
