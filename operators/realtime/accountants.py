"""Another account of Gaussian noise, to see what it would cost; nothing is charged so."""

from math import log, sqrt


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
