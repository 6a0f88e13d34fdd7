"""Grids with a step for each row."""

from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.noise.grid import EXACT_DOUBLE, multiplied


@dataclass(frozen=True, eq=False)
class RowGrids:
    """Round values of one sensitivity on grids with a step for each row, as `Grid` does for one.

    `steps (rows,)`, of at least 1, are how many the sensitivity has; values count units.

    Row by row the step is sensitivity / steps, and `Grid(Fraction(sensitivity, steps), ...)` gives
    the same index and the same doubles.

    >>> grids = RowGrids(sensitivity=10, steps=np.array([3, 3, 1]))
    >>> grids.index(np.array([[-5], [5], [14]])).tolist()
    [[-1], [2], [1]]
    >>> grids.value(np.array([[-1], [3], [3]])).round(3).tolist()
    [[-3.333], [10.0], [30.0]]

    Source: noise specification, sections 1 and 2.
    """

    sensitivity: int
    steps: Integers

    def index(self, values: Integers) -> Integers:
        """Return floor(value steps / sensitivity + 1/2), exactly, for `values (rows, ...)`."""
        points, rest = multiplied(values, self.steps[:, None], self.sensitivity)
        return points + (rest >= self.sensitivity - rest)

    def value(self, points: Integers) -> Floats:
        """Return points sensitivity / steps, correctly rounded, for `points (rows, ...)`."""
        shared = np.gcd(self.sensitivity, self.steps)
        numerators = (self.sensitivity // shared)[:, None]
        denominators = (self.steps // shared)[:, None]
        near = np.abs(points) <= EXACT_DOUBLE // numerators
        values: Floats = np.where(near, points, 0) * numerators / denominators.astype(np.float64)
        for row, bin_ in zip(*np.nonzero(~near), strict=True):
            point, numerator = int(points[row, bin_]), int(numerators[row, 0])
            values[row, bin_] = point * numerator / int(denominators[row, 0])
        return values
