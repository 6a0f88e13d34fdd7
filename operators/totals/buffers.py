"""Mix a series with what a few integers keep of its past: buffered linear Toeplitz matrices."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np

from fugu.operators.mechanism import Floats, Integers

UNIT = 2**32
"""Weights and factors are fractions of it."""
MOST_BUFFERS = 4
_GUARD_BITS = 6
_HALF = 31
_LOW = (1 << _HALF) - 1
_ROOT_BITS = 64


@dataclass(frozen=True)
class Buffers:
    """Mix every value of a series with what is remembered of those before it.

    The matrix C has ones on its diagonal and c_j = sum of w_i theta_i^(j - 1) below it, j places
    off. A buffer i remembers the sum of all values so far, each times theta_i to the power of its
    age. Where `weights` W_i and `factors` Theta_i are integers, w_i = W_i / 2^32 and theta_i =
    Theta_i / 2^32. The sum of all W_i is at most 2^32, so that c falls.

    >>> Buffers((2**31,), (2**31,)).columns(4).tolist()
    [1.0, 0.5, 0.25, 0.125]

    Source: continual release specification, section 3; McMahan et al. 2024.
    """

    weights: tuple[int, ...]
    factors: tuple[int, ...]

    def __post_init__(self) -> None:
        if not len(self.weights) == len(self.factors) in range(1, MOST_BUFFERS + 1):
            raise ValueError(f"weights, factors: give 1 to {MOST_BUFFERS} of each")
        if min(self.weights) < 1 or sum(self.weights) > UNIT:
            raise ValueError("weights: must be at least 1, and 2^32 together at most")
        if not all(0 <= factor < UNIT for factor in self.factors):
            raise ValueError("factors: must be from 0 to 2^32 - 1")

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def reach(self) -> Fraction:
        """Return d + the sum of w_i / (1 - theta_i): what roundings add up to, in units of them."""
        reach = Fraction(len(self))
        for weight, factor in zip(self.weights, self.factors, strict=True):
            reach += Fraction(weight, UNIT - factor)
        return reach

    @property
    def guard_bits(self) -> int:
        """Return F: buffers count in units of 2^-F steps, so that roundings stay below 2^-6."""
        bits = _GUARD_BITS
        while 2 ** (bits - _GUARD_BITS) < self.reach:
            bits += 1
        return bits

    @property
    def rounding(self) -> Fraction:
        """Return e: by how many steps the index of a value and that of its neighbour may differ
        from what the matrix makes of their difference, at most."""
        return 1 + self.reach / (1 << self.guard_bits)

    def columns(self, ticks: int) -> Floats:
        """Return c_0, c_1, ... in doubles."""
        powers = np.ones(len(self))
        weights, factors = np.array(self.weights) / UNIT, np.array(self.factors) / UNIT
        column = np.ones(ticks)
        for place in range(1, ticks):
            column[place] = float(np.sum(weights * powers))
            powers = powers * factors
        return column

    def encode(self, buffers: Integers, values: Integers, scale: int) -> tuple[Integers, Integers]:
        """Return the index of mixed `values (rows, bins)`, and buffers `(rows, bins, d)` after it.

        `scale` is that of a unit, in units of 2^-F steps.
        """
        grown = values * scale
        mixed, after = grown.copy(), np.empty_like(buffers)
        for place, (weight, factor) in enumerate(zip(self.weights, self.factors, strict=True)):
            mixed += product(weight, buffers[..., place])
            after[..., place] = product(factor, buffers[..., place]) + grown
        half = 1 << self.guard_bits - 1
        return (mixed + half) >> self.guard_bits, after

    def decode(self, memory: Floats, measured: Floats) -> tuple[Floats, Floats]:
        """Return the value that a measurement stands for, and the memory `(rows, bins, d)` after
        it. That is public: it depends on measurements alone."""
        value = measured.copy()
        for place, weight in enumerate(self.weights):
            value = value - weight / UNIT * memory[..., place]
        after = np.empty_like(memory)
        for place, factor in enumerate(self.factors):
            after[..., place] = factor / UNIT * memory[..., place] + value
        return value, after

    def largest_index(self, largest: int, scale: int) -> Fraction:
        """Return what no buffer and no mixed value exceeds, if no value exceeds `largest`."""
        grown = Fraction(scale * largest + 1)
        held = [grown * UNIT / (UNIT - factor) for factor in self.factors]
        mixed = sum(
            (
                Fraction(weight, UNIT) * most
                for weight, most in zip(self.weights, held, strict=True)
            ),
            grown + len(self),
        )
        return max(mixed, *held)


def product(factor: int, numbers: Integers) -> Integers:
    """Return floor(factor * number / 2^32) in 64 bits, for numbers below 2^62 either way.

    >>> product(3 * 2**30, np.array([5, -5, 2**62 - 1])).tolist()
    [3, -4, 3458764513820540927]
    """
    low = factor * (numbers & _LOW) >> _HALF
    return np.asarray((factor * (numbers >> _HALF) + low) >> 1)


@lru_cache(maxsize=256)
def participation(buffers: Buffers, ticks: int, counted: int, apart: int = 1) -> Fraction:
    """Return the square of the largest norm of C u, over all u of 0 and 1 with at most `counted`
    ones, any two at least `apart` ticks apart, among so many `ticks`; rounded up.

    Where c falls and is not negative, the first columns that are allowed, 0, b, 2b, ..., are the
    worst. Numbers between 0 and 1 instead of 0 and 1 give no more, nor do fewer ticks.

    >>> from math import sqrt
    >>> two = Buffers((1396214226, 604636038), (3399186373, 4249788738))
    >>> round(sqrt(participation(two, ticks=312, counted=1)), 6)
    1.628048

    Source: continual release specification, section 2 (Theorem 2); Kalinin and Lampert 2024.
    """
    places = min(counted, -(-ticks // apart))
    column = list(_rounded_up(buffers, ticks))
    total, running = 0, [0] * apart
    for tick in range(ticks):
        lane, gone = tick % apart, tick - places * apart
        running[lane] += column[tick] - (column[gone] if gone >= 0 else 0)
        total += running[lane] ** 2
    return Fraction(total, 1 << 2 * _ROOT_BITS)


def _rounded_up(buffers: Buffers, ticks: int) -> Iterator[int]:
    """Yield c_0, c_1, ... in units of 2^-64, rounded up."""
    powers = [weight << 32 for weight in buffers.weights]
    yield 1 << _ROOT_BITS
    for _ in range(ticks - 1):
        yield sum(powers)
        powers = [
            (power * factor >> 32) + 1
            for power, factor in zip(powers, buffers.factors, strict=True)
        ]


@lru_cache(maxsize=64)
def decoding_column(buffers: Buffers, ticks: int) -> Floats:
    """Return b_0, b_1, ...: how much of the noise of a tick is in the totals from there on.

    >>> decoding_column(Buffers((2**31,), (0,)), 4).tolist()
    [1.0, 0.5, 0.75, 0.625]
    """
    weights = [weight / UNIT for weight in buffers.weights]
    factors = [factor / UNIT for factor in buffers.factors]
    memory, total, column = [0.0] * len(buffers), 0.0, np.empty(ticks)
    for tick in range(ticks):
        value = 1.0 if tick == 0 else 0.0
        for weight, held in zip(weights, memory, strict=True):
            value -= weight * held
        memory = [factor * held + value for factor, held in zip(factors, memory, strict=True)]
        total += value
        column[tick] = total
    column.setflags(write=False)
    return column


def root_above(square: Fraction) -> Fraction:
    """Return the root of a fraction in units of 2^-64, rounded up."""
    exact = square * (1 << 2 * _ROOT_BITS)
    whole = -(-exact.numerator // exact.denominator)
    return Fraction(isqrt(whole - 1) + 1 if whole else 0, 1 << _ROOT_BITS)


def root_below(square: Fraction) -> Fraction:
    """Return the same, rounded down."""
    exact = square * (1 << 2 * _ROOT_BITS)
    return Fraction(isqrt(exact.numerator // exact.denominator), 1 << _ROOT_BITS)


@dataclass(frozen=True)
class TotalErrors:
    """Know the errors of totals of so many `ticks`, in units; `noise` is that of a measurement.

    Totals are counted from 1, and 0 is where there is none yet.

    >>> errors = TotalErrors(Buffers((2**31,), (0,)), ticks=100, noise=2.0)
    >>> errors.variances.round(3).tolist()[:3], round(errors.of_difference(2, 3), 3)
    ([0.0, 4.0, 5.0], 5.25)

    Source: continual release specification, section 3 (error bars).
    """

    buffers: Buffers
    ticks: int
    noise: float

    @property
    def variances(self) -> Floats:
        """Return the variance of the total of 0, 1, 2, ... ticks."""
        squares = np.concatenate([[0.0], decoding_column(self.buffers, self.ticks) ** 2])
        return np.asarray(self.noise**2 * np.cumsum(squares))

    def of_difference(self, first: int, last: int) -> float:
        """Return the variance of the total of `last` ticks less that of `first`, not more, ticks.

        It is that of the sum of the ticks after `first`.
        """
        column = decoding_column(self.buffers, self.ticks)
        apart = last - first
        both = column[apart : apart + first] - column[:first]
        return float(self.noise**2 * (np.sum(both**2) + np.sum(column[:apart] ** 2)))
