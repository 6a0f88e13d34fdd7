"""Privacy budgets as integers: units of 2^-40 nat, always rounded up, the same on every machine.

Charging needs a logarithm, and the logarithms of C libraries and of vectorised numpy loops differ
in their last bits. `charge_of_ratio` therefore uses only + - * / and comparisons: the argument is
split into `mantissa * 2^exponent`, `ln` of the mantissa is summed as an odd series, and the whole
units of `exponent * ln 2` are added as integers.

>>> charge_of_ratio(np.array([1.0, 2.0])).tolist(), units_of(1.0)
([0, 762123384786], 1099511627776)
"""

from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from math import ceil

import numpy as np

from fugu.operators.mechanism import Floats, Integers

UNITS_PER_NAT = 2**40
LARGEST_CHARGE = 2**60
"""Stands for an infinite or absurd leakage; sums saturate at `LARGEST_SPENT`."""
LARGEST_SPENT = 2**62

LN_2_UNITS = 762123384785
LN_2_REMAINDER = 0.8104503028768718
"""ln 2 in units: the whole ones, and the rest."""
SERIES_TERMS = 12
SQUARE_ROOT_OF_HALF = 0.7071067811865476
ROUNDING = 2.0**-45
"""Far above the error of the double arithmetic below, far below one unit."""


def exact_exp(nats: float) -> float:
    """e^nats, correctly rounded on every platform."""
    with localcontext() as context:
        context.prec = 60
        return float(Decimal(nats).exp())


def exact_expm1(nats: float) -> float:
    """e^nats - 1, correctly rounded on every platform."""
    with localcontext() as context:
        context.prec = 60
        return float(Decimal(nats).exp() - 1)


def units_of(nats: float) -> int:
    """Return a declared number of nats in units, rounded up."""
    return ceil(Decimal(nats) * UNITS_PER_NAT)


def in_nats(units: int) -> float:
    """Return units as nats, for people to read."""
    return units / UNITS_PER_NAT


def charge_of_exact_ratio(ratio: Fraction) -> int:
    """Return ln(ratio) * 2^40, rounded up, for a rational number of at least 1.

    >>> charge_of_exact_ratio(Fraction(2)), charge_of_exact_ratio(Fraction(1))
    (762123384786, 0)
    """
    if ratio == 1:
        return 0
    with localcontext() as context:
        context.prec, context.rounding = 60, ROUND_CEILING
        logarithm = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        return ceil(logarithm.next_plus() * UNITS_PER_NAT)


def charge_of_ratio(ratio: Floats) -> Integers:
    """Return ceil(ln(ratio) * 2^40) for ratios of at least 1; exactly 1 costs nothing."""
    finite = np.isfinite(ratio)
    mantissa, exponent = np.frexp(np.where(finite, ratio, 1.0))
    small = mantissa < SQUARE_ROOT_OF_HALF
    mantissa = np.where(small, mantissa * 2.0, mantissa)
    exponent = exponent.astype(np.int64) - small
    z = (mantissa - 1.0) / (mantissa + 1.0)
    square = z * z
    series = np.zeros_like(z)
    for term in range(SERIES_TERMS, -1, -1):
        series = series * square + 1.0 / (2 * term + 1)
    beyond = exponent * LN_2_REMAINDER + (2.0 * z * series + ROUNDING) * UNITS_PER_NAT
    units = exponent * LN_2_UNITS + np.ceil(beyond).astype(np.int64)
    charged: Integers = np.where(ratio > 1.0, units, 0)
    return np.where(finite, charged, np.int64(LARGEST_CHARGE))


def add_spent(spent: Integers, charge: Integers) -> Integers:
    """Return the ledger after a charge; it saturates instead of wrapping around."""
    total: Integers = np.minimum(spent + charge, LARGEST_SPENT)
    return total
