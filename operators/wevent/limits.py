"""Limits of parameters and of vectors, and the checks that refuse or clamp what is beyond them."""

from fractions import Fraction
from math import isfinite

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Array, Integers
from fugu.operators.noise.grid import counted

LARGEST_BINS = 2**17
LARGEST_WINDOW = 100_000
LARGEST_EPSILON = 20.0
LARGEST_VALUE = 2**44


def require_size(name: str, value: int, largest: int) -> None:
    """Raise `ValueError` unless the value is from 1 to `largest`."""
    if not 1 <= value <= largest:
        raise ValueError(f"{name}: must be from 1 to {largest}, not {value}")


def require_length(tick_milliseconds: int | None) -> None:
    """Raise `ValueError` if ticks have a length in time that is below 1 ms."""
    if tick_milliseconds is not None and tick_milliseconds < 1:
        raise ValueError(f"tick_milliseconds: must be at least 1, not {tick_milliseconds}")


def require_epsilon(epsilon: float, name: str = "epsilon") -> None:
    """Raise `ValueError` unless it is above 0 and at most the largest epsilon."""
    if not isfinite(epsilon) or not 0.0 < epsilon <= LARGEST_EPSILON:
        raise ValueError(
            f"{name}: must be above 0 and at most {LARGEST_EPSILON:g} nats, not {epsilon}"
        )


def require_epsilon_and_delta(epsilon: float, delta: float) -> None:
    """Raise `ValueError` unless both can be promised; a delta is above 0 and below 1."""
    require_epsilon(epsilon)
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta: must be above 0 and below 1, not {delta}")


def units_below(epsilon: float, name: str = "epsilon") -> int:
    """Convert a declared number of nats to units, rounded down: nobody is charged more."""
    require_epsilon(epsilon, name)
    return int(Fraction(epsilon) * UNITS_PER_NAT)


def vectors(values: Array, bins: int) -> Integers:
    """Return integers `(rows, bins)`, clamped to 2^44 either way; `ValueError` for other shapes."""
    if values.ndim != 2 or values.shape[1] != bins:
        raise ValueError(f"values must be vectors of {bins} bins, not of shape {values.shape[1:]}")
    return np.clip(counted(values), -LARGEST_VALUE, LARGEST_VALUE)
