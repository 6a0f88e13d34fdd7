"""What other accounts of Gaussian noise would say, to see what they cost; nothing is charged so.

All are about S, the sum of squares of sensitivity over deviation: rho-zCDP has S = 2 rho.
`paper_total` and `paper_epsilon` are the bound of Zhang et al. `gaussian_total` and
`gaussian_epsilon` are exact for continuous noise, for which all releases are one of sensitivity
sqrt(S); they are no proof for discrete noise.

>>> round(paper_total(1.0, 1e-7), 7), round(gaussian_total(1.0, 1e-7), 7)
(0.0300945, 0.0456832)

Source: real-time release specification, section 5; Balle and Wang 2018; Dong, Roth and Su 2019.
"""

from collections.abc import Callable
from math import erfc, exp, log, sqrt

_HALVINGS = 200


def paper_total(epsilon: float, delta: float) -> float:
    """The S that (epsilon, delta) pays for by the bound of the paper."""
    confidence = -log(delta)
    root = sqrt(confidence + epsilon) + sqrt(confidence)
    return 2.0 * (epsilon / root) ** 2


def paper_epsilon(total: float, delta: float) -> float:
    """The epsilon of S by the bound of the paper."""
    return total / 2.0 + sqrt(-2.0 * total * log(delta))


def gaussian_delta(total: float, epsilon: float) -> float:
    """The delta of S at `epsilon`, of continuous noise."""
    ratio = sqrt(total)
    closer, farther = epsilon / ratio - ratio / 2.0, epsilon / ratio + ratio / 2.0
    return _above(closer) - exp(epsilon) * _above(farther)


def gaussian_total(epsilon: float, delta: float) -> float:
    """The S that (epsilon, delta) pays for with continuous noise."""
    enough = 2.0 * (sqrt(-log(delta) + epsilon) + 1.0) ** 2
    return _border(lambda total: gaussian_delta(total, epsilon) > delta, enough)


def gaussian_epsilon(total: float, delta: float) -> float:
    """The epsilon of S with continuous noise."""
    enough = paper_epsilon(total, delta)
    return _border(lambda epsilon: gaussian_delta(total, epsilon) <= delta, enough)


def _above(deviations: float) -> float:
    """How likely a normal number is so many deviations above its mean."""
    return erfc(deviations / sqrt(2.0)) / 2.0


def _border(beyond: Callable[[float], bool], enough: float) -> float:
    """Where a condition begins to hold, between 0 and `enough`."""
    low, high = 0.0, enough
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return high
