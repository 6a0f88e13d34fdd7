"""Derive the constants of the samplers; `python -m tests.operators.noise.derivation`.

Decimals of 100 digits (332 bits), and nothing of what is derived here.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

from fugu.operators.noise.discrete_laplace import Thresholds

DIGITS = 100
WORD = 2**64
TAIL_IN_SCALES = 64
DEVIATION = 2**14
PI = Decimal(
    "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253"
    "421170679821480865132823066470938446095505822317253594081284811174502841027019385"
)


def digit_probabilities(precision: int) -> list[Decimal]:
    """P(digit j = 1) = 1 / (1 + exp(2^(j - M)))."""
    with localcontext() as context:
        context.prec = DIGITS
        powers = (Decimal(2) ** (j - precision) for j in range(precision + 6))
        return [1 / (1 + power.exp()) for power in powers]


def zero_probability(precision: int) -> Decimal:
    """tanh(2^-M / 2) = (e^x - 1) / (e^x + 1) for x = 2^-M."""
    with localcontext() as context:
        context.prec = DIGITS
        growth = (Decimal(2) ** -precision).exp()
        return (growth - 1) / (growth + 1)


def threshold(probability: Decimal) -> int:
    """round(2^64 p)."""
    with localcontext() as context:
        context.prec = DIGITS
        return int((probability * WORD).to_integral_value())


def thresholds(precision: int) -> Thresholds:
    """Those of a sampler with a scale of 2^precision."""
    digits = tuple(threshold(probability) for probability in digit_probabilities(precision))
    return Thresholds(threshold(zero_probability(precision)), digits)


def total_variation_bound(precision: int) -> Decimal:
    """Roundings of all thresholds, and the tail beyond 64 scales."""
    with localcontext() as context:
        context.prec = DIGITS
        exact = [*digit_probabilities(precision), zero_probability(precision)]
        rounded = (Decimal(threshold(probability)) / WORD for probability in exact)
        errors = (abs(ours - ideal) for ours, ideal in zip(rounded, exact, strict=True))
        return sum(errors, Decimal(-TAIL_IN_SCALES).exp())


def laplace_probability(k: int, precision: int) -> Decimal:
    """tanh(2^-M / 2) e^(-|k| / 2^M)."""
    with localcontext() as context:
        context.prec = DIGITS
        return zero_probability(precision) * (-abs(k) * Decimal(2) ** -precision).exp()


def sampled_probability(k: int, constants: Thresholds) -> Fraction:
    """Return what uniform words and these integer thresholds give, exactly."""
    zero = Fraction(constants.zero, WORD)
    if k == 0:
        return zero
    probability = (1 - zero) / 2
    for j, digit in enumerate(constants.digits):
        one = Fraction(digit, WORD)
        probability *= one if (abs(k) - 1) >> j & 1 else 1 - one
    return probability


def gaussian_weight(k: int) -> Decimal:
    """e^(-k^2 / (2 sigma^2))."""
    with localcontext() as context:
        context.prec = DIGITS
        return (Decimal(-(k**2)) / (2 * DEVIATION**2)).exp()


def gaussian_total() -> Decimal:
    """The weights of all integers sum to sigma sqrt(2 pi), by Poisson summation.

    Up to a relative 2 e^(-2 pi^2 sigma^2), which is below 10^-1000.
    """
    with localcontext() as context:
        context.prec = DIGITS
        return DEVIATION * (2 * PI).sqrt()


def gaussian_probabilities(largest: int) -> list[Decimal]:
    """P(|X| = k) for k = 0..largest, each from the one before."""
    with localcontext() as context:
        context.prec = DIGITS
        ratio, square = gaussian_weight(1), gaussian_weight(1) ** 2
        probability = 2 / gaussian_total()
        found = [probability / 2]
        for _ in range(largest):
            probability *= ratio
            ratio *= square
            found.append(probability)
        return found


if __name__ == "__main__":
    derived = thresholds(24)
    print("zero:", derived.zero)
    print(*derived.digits, sep="\n")
