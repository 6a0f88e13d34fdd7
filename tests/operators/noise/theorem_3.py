"""The bound of Theorem 3 for discrete Gaussian noise of any deviation, in doubles."""

from collections.abc import Sequence
from math import exp, log1p, pi

from tests.operators.realtime.epsilons import gaussian_delta

ROUNDED = (0.5, 0.7, 0.9, 1.1, 1.4)
"""Deviations of the rounding to try; any below that of the noise gives a bound."""


def proved_delta(deviation: int, shifts: Sequence[int], epsilon: float) -> float:
    """Return the least delta that the theorem proves for draws with these shifts."""
    return min(_proved(deviation, shifts, epsilon, rounded) for rounded in ROUNDED)


def _eta(deviation: float) -> float:
    """Return 2 e^(-2 pi^2 r^2) + ...: how far from constant a sum of Gaussians is."""
    return 2.0 * sum(exp(-2.0 * (pi * deviation * j) ** 2) for j in range(1, 20))


def _proved(deviation: int, shifts: Sequence[int], epsilon: float, rounded: float) -> float:
    """Return the delta of Theorem 3, where `rounded` is the deviation of its rounding."""
    draws, lost = len(shifts), _eta(rounded)
    factor = log1p(lost) + log1p(_eta(deviation)) - log1p(-lost)
    total = sum(shift * shift for shift in shifts) / (deviation**2 - rounded**2)
    return (1.0 + lost) ** draws * gaussian_delta(total, epsilon - draws * factor)
