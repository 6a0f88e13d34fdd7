"""Measurement of a tick: discrete Gaussian noise of a given precision on every bin."""

from dataclasses import dataclass
from fractions import Fraction
from math import nextafter

import numpy as np

from fugu.operators.byte_column import ByteColumn, bytes_of
from fugu.operators.byte_fields import encode_field, encode_fields, table_of_fields
from fugu.operators.digests import digests_of
from fugu.operators.mechanism import Draws, Floats, Integers
from fugu.operators.noise import discrete_gaussian as sampler
from fugu.operators.noise.discrete_gaussian import PRECISION
from fugu.operators.noise.gaussian import GaussianNoise
from fugu.operators.noise.row_grids import RowGrids
from fugu.operators.randomness import draws_of
from fugu.operators.wevent.limits import LARGEST_VALUE

_INNER = encode_fields(1, PRECISION)
"""One coordinate of a draw, and the precision of the sampler."""
_OUTER = len(encode_fields(0, 0) + _INNER).to_bytes(4, "little")
"""The length of what a draw is bound to, after the index."""


@dataclass(frozen=True)
class Measurement:
    """Measure vectors of which one person changes each bin by at most `sensitivity` units.

    Precision is the number s of grid steps that the sensitivity has: one changed bin moves by s
    steps exactly, whatever its values are, so nothing is lost by rounding, and `changed` bins cost
    changed * s^2 / 2^29 of rho. The noise has a deviation of 2^14 steps.

    >>> from fugu.operators.randomness import DrawScope, tick_position
    >>> from fugu.operators.secret import Secret
    >>> scope = DrawScope(Secret(bytes(32)), "demo", "real", 1, bytes(32))
    >>> draws = scope.draws([b"zones"], [tick_position("vitals", 1)])
    >>> coarse = Measurement(sensitivity=1)
    >>> coarse.noisy(np.array([[500, 0]]), np.array([1000]), draws).round(1).tolist()
    [[519.8, 29.4]]
    >>> coarse.deviation(1000)
    16.384

    Source: noise specification, sections 2 and 4.
    """

    sensitivity: int

    def noisy(self, values: Integers, steps: Integers, draws: Draws) -> Floats:
        """Add noise of the precision `steps (rows,)` to `values (rows, bins)`; 0 where that is 0.

        It is that of `GaussianNoise`, of all rows at once, whatever their precision.
        """
        noisy, rows = np.zeros(values.shape), np.flatnonzero(steps > 0)
        if not len(rows):
            return noisy
        grids = RowGrids(self.sensitivity, steps[rows])
        index = grids.index(values[rows])
        words = draws_of(draws, rows, len(values)).words(
            "release",
            self._bound_to(index, steps[rows]),
            coordinates=index.shape[1],
            count=sampler.WORDS_PER_DRAW,
        )
        noisy[rows] = grids.value(index + sampler.sample(words))
        return noisy

    def _bound_to(self, index: Integers, steps: Integers) -> ByteColumn:
        """Return the digests of index and noise, as of `add_noise`, for each row."""
        table = np.concatenate(
            [
                table_of_fields(index.ravel()).reshape(len(index), -1),
                table_of_fields(steps, _OUTER + encode_field(self.sensitivity)),
            ],
            axis=1,
        )
        inner = np.tile(bytes_of(_INNER), (len(index), 1))
        return digests_of(ByteColumn.of_table(np.concatenate([table, inner], axis=1)))

    def deviation(self, steps: int) -> float:
        """Return the deviation of the noise, in units."""
        return float(_deviation(self.sensitivity, steps))

    def variance(self, steps: Integers) -> Floats:
        """Return the variance of the noise, in squared units; `steps` are positive."""
        most = self.deviation(1)
        precision = steps.astype(np.float64)
        return most * most / (precision * precision)

    def warning(self, steps: int) -> str | None:
        """Warn of a precision of few steps, where there is something to say."""
        return _noise(self.sensitivity, steps).warning


def _deviation(sensitivity: int, steps: int) -> Fraction:
    return Fraction(sensitivity << PRECISION, steps)


def _noise(sensitivity: int, steps: int) -> GaussianNoise:
    """Return the noise whose sensitivity is so many steps, with a deviation rounded down."""
    exact = _deviation(sensitivity, steps)
    deviation = float(exact)
    if deviation > exact:
        deviation = nextafter(deviation, 0.0)
    noise = GaussianNoise(sensitivity, deviation, -LARGEST_VALUE, LARGEST_VALUE)
    assert noise.index_sensitivity == steps
    return noise
