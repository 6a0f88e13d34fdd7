"""Accounts of continuous Gaussian noise in doubles, to compare with what is charged and printed."""

from math import erfc, exp, log, sqrt

_HALVINGS = 200


def paper_epsilon(total: float, delta: float) -> float:
    """Return the epsilon of S by the bound of the paper."""
    return total / 2.0 + sqrt(-2.0 * total * log(delta))


def gaussian_epsilon(total: float, delta: float) -> float:
    """Return the epsilon of S with continuous noise, by halving."""
    low, high = 0.0, paper_epsilon(total, delta)
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (low, middle) if gaussian_delta(total, middle) <= delta else (middle, high)
    return high


def gaussian_delta(total: float, epsilon: float) -> float:
    """Return the delta of S at `epsilon`, of continuous noise."""
    ratio = sqrt(total)
    closer, farther = epsilon / ratio - ratio / 2.0, epsilon / ratio + ratio / 2.0
    return _above(closer) - exp(epsilon) * _above(farther)


def gaussian_total(epsilon: float, delta: float) -> float:
    """Return the S that (epsilon, delta) pays for with continuous noise.

    Source: Balle and Wang 2018; Dong, Roth and Su 2019.
    """
    low, high = 0.0, 2.0 * (sqrt(-log(delta) + epsilon) + 1.0) ** 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if gaussian_delta(middle, epsilon) > delta else (middle, high)
    return high


def _above(deviations: float) -> float:
    """Return the chance of a normal number to be so many deviations above its mean."""
    return erfc(deviations / sqrt(2.0)) / 2.0
