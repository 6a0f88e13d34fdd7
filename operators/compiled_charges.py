"""Charges and digests of one release, as `budget_units` and `release_digest` count them."""

import math

import numpy as np

from fugu.operators.budget_units import (
    LARGEST_CHARGE,
    LARGEST_SPENT,
    LN_2_REMAINDER,
    LN_2_UNITS,
    ROUNDING,
    SERIES_TERMS,
    SQUARE_ROOT_OF_HALF,
    UNITS_PER_NAT,
)
from fugu.operators.compiled.compiling import inlined
from fugu.operators.digests import FIRST, GOLDEN, SECOND

_ODD_PARTS = np.array([1.0 / (2 * term + 1) for term in range(SERIES_TERMS + 1)])


@inlined
def charge_up_to(ratio: float, largest: float, at_most: int) -> int:
    """Count like `charge_of_ratio`, up to `at_most`, which is the charge of the `largest` ratio."""
    return at_most if ratio >= largest else min(_units(ratio), at_most)


@inlined
def bit_length(number: int) -> int:
    """Count like `bit_lengths`."""
    return math.frexp(float(number))[1]


@inlined
def _units(ratio: float) -> int:
    if not math.isfinite(ratio):
        return LARGEST_CHARGE
    if not ratio > 1.0:
        return 0
    mantissa, exponent = math.frexp(ratio)
    if mantissa < SQUARE_ROOT_OF_HALF:
        mantissa *= 2.0
        exponent -= 1
    z = (mantissa - 1.0) / (mantissa + 1.0)
    square, series = z * z, 0.0
    for term in range(SERIES_TERMS, -1, -1):
        series = series * square + _ODD_PARTS[term]
    beyond = exponent * LN_2_REMAINDER + (2.0 * z * series + ROUNDING) * UNITS_PER_NAT
    return exponent * LN_2_UNITS + int(np.ceil(beyond))


@inlined
def spent_after(spent: int, units: int) -> int:
    """Add like `add_spent`."""
    return min(spent + units, LARGEST_SPENT)


@inlined
def extended(history: np.uint64, event: int) -> np.uint64:
    """Return the digest after one more event, like `release_digest.extended`."""
    mixed = (history ^ (np.uint64(event) * SECOND)) + GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * SECOND
    return mixed ^ (mixed >> np.uint64(31))
