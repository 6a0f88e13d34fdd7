"""Other accounts of Gaussian noise, to see what they would cost; nothing is charged so."""

from math import erfc, exp, log, sqrt

_HALVINGS = 200


def paper_total(epsilon: float, delta: float) -> float:
    """Return the S that (epsilon, delta) pays for by the bound of Zhang et al.

    S is the sum of squares of sensitivity over deviation: rho-zCDP has S = 2 rho.

    >>> round(paper_total(1.0, 1e-7), 7)
    0.0300945

    Source: real-time release specification, section 5.
    """
    confidence = -log(delta)
    root = sqrt(confidence + epsilon) + sqrt(confidence)
    return 2.0 * (epsilon / root) ** 2


def gaussian_delta(total: float, epsilon: float) -> float:
    """Return the delta of S at `epsilon`, of continuous noise."""
    ratio = sqrt(total)
    closer, farther = epsilon / ratio - ratio / 2.0, epsilon / ratio + ratio / 2.0
    return _above(closer) - exp(epsilon) * _above(farther)


def gaussian_total(epsilon: float, delta: float) -> float:
    """Return the S that (epsilon, delta) pays for with continuous noise.

    It is exact for continuous noise, for which all releases are one of sensitivity sqrt(S), and no
    proof for discrete noise. Source: as for `paper_total`; Balle and Wang 2018; Dong, Roth and Su
    2019.

    >>> round(gaussian_total(1.0, 1e-7), 7)
    0.0456832
    """
    low, high = 0.0, 2.0 * (sqrt(-log(delta) + epsilon) + 1.0) ** 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if gaussian_delta(middle, epsilon) > delta else (middle, high)
    return high


def _above(deviations: float) -> float:
    """Return the chance of a normal number to be so many deviations above its mean."""
    return erfc(deviations / sqrt(2.0)) / 2.0
