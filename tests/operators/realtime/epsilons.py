"""Epsilons by other accounts of Gaussian noise, to compare with what is printed."""

from math import log, sqrt

from fugu.operators.realtime.accountants import gaussian_delta


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
