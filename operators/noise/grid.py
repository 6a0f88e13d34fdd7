"""Hold public grids of exact rationals, one for all rows or one for each."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from fugu.operators.mechanism import Array, Floats, Integers

LARGEST_POINT = 2**62
"""Index and noise together stay below this."""
_LARGEST_BITS = 61
"""A numerator of the step with more bits would leave no room for a digit; see `multiplied`."""
EXACT_DOUBLE = 2**53
"""Every integer up to it is a double."""


@dataclass(frozen=True)
class Grid:
    """Put fixed-point integers on a public grid of exact rationals, and take noisy points
    off it.

    Points are multiples of `step`, for values in `lower..upper`; all three count units.

    No floating-point number that depends on data ever meets noise. A value is an integer number of
    declared units; its index on the grid is rounded in exact arithmetic; noise is an integer number
    of grid steps; and only the sum of the two becomes a double, as a function of that integer
    alone.

    Raises `ValueError` where index plus `largest_noise` would not fit 64 bits with room to spare.

    >>> from fractions import Fraction
    >>> grid = Grid(step=Fraction(10, 3), lower=-5, upper=100, largest_noise=2**30)
    >>> grid.index(np.array([-5, 0, 5, 10])).tolist()
    [-1, 0, 2, 3]
    >>> grid.value(np.array([-1, 3]), units_per_one=10).tolist()
    [-0.3333333333333333, 1.0]

    Source: noise specification, sections 1 and 2; Mironov 2012 on what doubles give away.
    """

    step: Fraction
    lower: int
    upper: int
    largest_noise: int

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ValueError(f"lower: must be at most upper, which is {self.upper}")
        if self.step <= 0:
            raise ValueError(f"step: must be positive, not {self.step}")
        largest = max(-self.lower, self.upper)
        farthest = ceil(largest / self.step) + self.largest_noise
        if (
            max(largest, self.step.denominator, farthest) >= LARGEST_POINT
            or self.step.numerator.bit_length() > _LARGEST_BITS
        ):
            raise ValueError(
                "lower, upper: the declared range, counted in grid steps, does not fit 64 bits; "
                "declare a smaller range or a larger unit, or ask for more noise"
            )

    def index(self, values: Array) -> Integers:
        """Return floor(value / step + 1/2), exactly, for integers of any shape."""
        units = counted(values)
        if ((units < self.lower) | (units > self.upper)).any():
            raise ValueError("a value is outside the declared range; clamp before adding noise")
        points, rest = multiplied(units, self.step.denominator, self.step.numerator)
        return points + (rest >= self.step.numerator - rest)

    def value(self, points: Integers, units_per_one: int = 1) -> Floats:
        """Return points * step / units_per_one, correctly rounded: the same on every machine.

        Where numerator and denominator are exact doubles, their quotient has a single rounding,
        which IEEE 754 fixes; elsewhere Python divides integers, which it rounds correctly too.
        """
        step = self.step / units_per_one
        reach = EXACT_DOUBLE // step.numerator if step.denominator <= EXACT_DOUBLE else -1
        near = np.abs(points) <= reach
        values: Floats = np.where(near, points, 0) * step.numerator / float(step.denominator)
        for far in np.flatnonzero(~near):
            values.flat[far] = int(points.flat[far]) * step.numerator / step.denominator
        return values


def counted(values: Array) -> Integers:
    """Return values that count units as 64-bit integers; anything but integers is refused."""
    if not np.can_cast(values.dtype, np.int64):
        raise ValueError(f"values must be integers that count units, not {values.dtype}")
    return values.astype(np.int64, copy=False)


def multiplied(values: Integers, factor: int | Integers, divisor: int) -> tuple[Integers, Integers]:
    """Return quotient (rounded down) and remainder of values * factor / divisor, without
    overflow.

    Long multiplication of the part below `divisor`, in digits of the factor that are as wide as the
    divisor leaves room for: with remainder < divisor and digit < 2^width, remainder * 2^width +
    rest * digit < divisor * 2^(width + 1) <= 2^63.
    """
    width, factors = 62 - divisor.bit_length(), np.asarray(factor, dtype=np.int64)
    whole, rest = np.divmod(values, divisor)
    quotient, remainder = np.zeros_like(values), np.zeros_like(values)
    for digit in _digits(factors, width):
        more, remainder = np.divmod((remainder << width) + rest * digit, divisor)
        quotient = (quotient << width) + more
    return whole * factors + quotient, remainder


def _digits(numbers: Integers, width: int) -> Iterator[Integers]:
    """Return the digits of numbers in base 2^width, most significant first; all have as many."""
    count = -(-int(numbers.max()).bit_length() // width)
    return (numbers >> width * place & (1 << width) - 1 for place in reversed(range(count)))


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
