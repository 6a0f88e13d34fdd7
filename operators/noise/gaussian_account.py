"""Account exactly for discrete Gaussian noise: by how many steps neighbours may differ."""

from decimal import Context, Decimal, localcontext
from functools import lru_cache

from fugu.operators.noise.discrete_gaussian import PRECISION

VARIANCE = 4**PRECISION - 9
"""The variance of the normal noise that draws are made of, in squared grid steps."""
_DIGITS = 80
_TERMS = 220
"""Count the terms of the continued fraction: from `_FAR` on, more than enough for all digits."""
_FAR = 8
_NEGLIGIBLE = Decimal("1e-80")
_ROOT_OF_TWO_PI = Decimal(
    "2.506628274631000502415765284811045253006986740609938316629923576342293654607841974946595838"
)


@lru_cache(maxsize=256)
def squares_of(epsilon: float, delta: float, variance: int = VARIANCE) -> int:
    """Return the most squared grid steps that (epsilon, delta) pays for.

    Take draws of the discrete Gaussian with a deviation of 2^14 steps, each perhaps chosen after
    those before it, whose indices differ between neighbours by at most M squared steps in all. They
    are post-processing of normal noise with a variance of 2^28 - 9, but for a factor between
    1 - 10^-76 and 1 + 10^-76 for each draw. Normal noise composes exactly: for all draws together

        delta(epsilon) = Phi(m / 2 - epsilon / m) - e^epsilon Phi(-m / 2 - epsilon / m),

    where m^2 = M / (2^28 - 9). Draws of another deviation have another `variance`, its square less
    9. Delta grows with M, and the largest M that keeps delta is found by halving. One step less
    pays for the factors of up to 2^60 draws, and for the arithmetic, which is decimal: the
    same on every machine. Epsilon and delta are positive, and delta is below 1.

    >>> squares_of(epsilon=3.0, delta=1e-6)
    112621999

    Source: continual release specification, section 4 (Theorem 3); Balle and Wang 2018; Dong, Roth
    and Su 2019.
    """
    with localcontext(Context(prec=_DIGITS)):
        low, high = 0, 1
        while delta_of_squares(high, epsilon, variance) <= delta:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if delta_of_squares(middle, epsilon, variance) <= delta:
                low = middle
            else:
                high = middle
    return max(0, low - 1)


def delta_of_squares(squares: int, epsilon: float, variance: int = VARIANCE) -> Decimal:
    """Return the delta of draws that differ by so many squared steps, to 60 digits or more."""
    with localcontext(Context(prec=_DIGITS)):
        nats, ratio = Decimal(epsilon), (Decimal(squares) / variance).sqrt()
        near, far = nats / ratio - ratio / 2, nats / ratio + ratio / 2
        return _above(near) - nats.exp() * _above(far)


def _above(deviations: Decimal) -> Decimal:
    """Return the chance of a normal number to be so many deviations above its mean."""
    if deviations < 0:
        return 1 - _above(-deviations)
    density = (-deviations * deviations / 2).exp() / _ROOT_OF_TWO_PI
    if deviations >= _FAR:
        return density / _fraction(deviations)
    term = total = deviations
    factor = 1
    while term > _NEGLIGIBLE:
        factor += 2
        term *= deviations * deviations / factor
        total += term
    return Decimal("0.5") - density * total


def _fraction(deviations: Decimal) -> Decimal:
    """Return x + 1 / (x + 2 / (x + 3 / ...)): density over chance, of what is far above."""
    below = deviations
    for term in range(_TERMS, 0, -1):
        below = deviations + term / below
    return below
