"""The tight conversion of zero-concentrated DP, in doubles, to compare with what is charged.

Source: Canonne, Kamath and Steinke 2020, Proposition 12.
"""

from math import exp, log1p

from scipy.optimize import brentq


def delta_of_zcdp(rho: float, epsilon: float) -> float:
    """Return the smallest delta for which rho-zCDP is (epsilon, delta)-DP."""

    def rises(beyond: float) -> float:
        return (2.0 * beyond + 1.0) * rho - epsilon - log1p(1.0 / beyond)

    beyond = brentq(rises, 1e-12, 1.0 + (epsilon + 1.0) / (2.0 * rho), xtol=1e-300, rtol=1e-13)
    exponent = beyond * (rho * (1.0 + beyond) - epsilon)
    return exp(exponent - log1p(beyond) - beyond * log1p(1.0 / beyond))


def epsilon_of_zcdp(rho: float, delta: float) -> float:
    """Return the smallest epsilon for which rho-zCDP is (epsilon, delta)-DP, rounded up."""
    low, high = 0.0, 1.0
    while delta_of_zcdp(rho, high) > delta:
        high *= 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if delta_of_zcdp(rho, middle) <= delta else (middle, high)
    return high
