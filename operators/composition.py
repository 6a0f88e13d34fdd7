"""Bound several releases below the sum of what each spends, and convert zero-concentrated
figures.

Claim. `advanced`: with probability at least 1 - delta, releases of one stream by one Sequence
Information Privacy (SIP) mechanism, with epsilons fixed in advance, leak at most the result,
relative to the model only. `largest_window_sum`: no `window` consecutive positions cost more.
`delta_of_zcdp` and `epsilon_of_zcdp`: whatever is rho-zCDP is (epsilon, delta)-DP; values of rho
add up beforehand. Sums of promises are in `fugu.operators.sums`.

Parameters: epsilons and rho in nats; a window counts positions. Bounds in doubles are rounded up,
with an allowance for their own rounding: a relative 1e-12 for `advanced`, and below a relative 1e-9
of delta for zCDP while -ln(delta) is below 1000.

>>> round(advanced([0.1] * 1000, delta=0.05), 2)
13.59
>>> largest_window_sum([5, 1, 4, 3, 0], window=2)
7
>>> round(epsilon_of_zcdp(0.05, delta=1e-5), 4)
1.3081

Source: SIP specification, section 7 (Theorem 2, corrected); real-time release specification,
section 5; Canonne, Kamath and Steinke 2020, Proposition 12.
"""

from collections.abc import Callable, Sequence
from math import exp, fsum, inf, isfinite, log, log1p, nextafter, sqrt, tanh

from fugu.operators.budget_units import in_nats, units_of

_ADVANCED_ROUNDING = 1e-12
_ZCDP_ROUNDING = 2.0**-48
"""Relative, of the sum of the magnitudes that make up ln(delta)."""
_HALVINGS = 100
_TINY = 1e-300


def advanced(epsilons: Sequence[float], delta: float) -> float:
    """Return the corrected advanced composition of SIP releases in nats, never above their sum.

    For epsilons fixed in advance and relative to the model only: with probability `delta` a stream
    leaks more than this, and up to the sum.
    """
    if not all(isfinite(epsilon) and epsilon >= 0.0 for epsilon in epsilons):
        raise ValueError("epsilons: must be numbers of nats, none of them negative")
    _require_probability(delta)
    drift = fsum(epsilon * tanh(epsilon / 2.0) for epsilon in epsilons)
    squares = fsum(epsilon * epsilon for epsilon in epsilons)
    bound = (drift + sqrt(2.0 * (log(2.0) - log(delta)) * squares)) * (1.0 + _ADVANCED_ROUNDING)
    return min(in_nats(sum(map(units_of, epsilons))), nextafter(bound, inf))


def largest_window_sum(charges: Sequence[int], window: int) -> int:
    """Return the largest sum over any `window` consecutive positions, exactly; fewer positions
    count whole.

    `charges` are integers, such as units of 2^-40 nat, one for each position in order.
    """
    if window < 1:
        raise ValueError(f"window: must be at least 1 position, not {window}")
    largest = current = 0
    for position, charge in enumerate(charges):
        current += int(charge)
        if position >= window:
            current -= int(charges[position - window])
        largest = max(largest, current)
    return largest


def delta_of_zcdp(rho: float, epsilon: float) -> float:
    """Return a delta for which rho-zCDP is (epsilon, delta)-DP: the tight conversion,
    rounded up.

    The minimum over alpha > 1 of exp((alpha-1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha/(alpha-1).
    Every alpha gives a bound, so that an inexact minimum is one too.
    """
    _require_nats("rho", rho)
    _require_nats("epsilon", epsilon)
    if rho == 0.0:
        return 0.0

    def rises(beyond: float) -> bool:
        return (2.0 * beyond + 1.0) * rho - epsilon - log1p(1.0 / beyond) >= 0.0

    beyond = _smallest(rises, 1.0 + (epsilon + 1.0) / (2.0 * rho))
    drift = beyond * rho * (1.0 + beyond)
    gain = beyond * epsilon
    entropy = log1p(beyond) + beyond * log1p(1.0 / beyond)
    allowance = _ZCDP_ROUNDING * (1.0 + drift + gain + entropy)
    return min(1.0, nextafter(exp(min(0.0, drift - gain - entropy + allowance)), inf))


def epsilon_of_zcdp(rho: float, delta: float) -> float:
    """Return an epsilon for which rho-zCDP is (epsilon, delta)-DP: tight, rounded up."""
    _require_nats("rho", rho)
    _require_probability(delta)

    def suffices(epsilon: float) -> bool:
        return delta_of_zcdp(rho, epsilon) <= delta

    if suffices(0.0):
        return 0.0
    simple = rho + 2.0 * sqrt(rho * -log(delta))
    return _smallest(suffices, simple * (1.0 + _ADVANCED_ROUNDING))


def _smallest(holds: Callable[[float], bool], enough: float) -> float:
    """Return the smallest positive number for which `holds`; it must hold for `enough`."""
    low, high = _TINY, enough
    for _ in range(_HALVINGS):
        middle = sqrt(low) * sqrt(high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _require_nats(name: str, value: float) -> None:
    if not isfinite(value) or value < 0.0:
        raise ValueError(f"{name}: must be a number of nats, 0 or more, not {value}")


def _require_probability(delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta: must be above 0 and below 1, not {delta}")
