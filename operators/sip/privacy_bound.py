"""The bounds that an epsilon sets to integer release laws."""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from math import isfinite, nextafter

from fugu.operators.budget_units import units_of

WORDS = 2.0**64
"""Count the 64-bit words, as a double."""
UP = 1.0 + 2.0**-50
PART_DOWN = 1.0 - 2.0**-50
"""Shares are rounded down by a little more than rounding of doubles can raise them."""
UNIT_ROUNDOFF = 2.0**-53
LARGEST_DISTANCE = 0.125
"""A belief that may be farther from the exact one than this releases a constant."""
LARGEST_EPSILON = 50.0
_ROUNDING_WORDS = 8192
_LARGEST_RESERVE = 2.0**62


@dataclass(frozen=True)
class PrivacyBound:
    """Hold the constants of an integer release law, in doubles on the safe side.

    `growth` is E, the largest double up to e^epsilon; `gain` is g, the largest up to E - 1.

    A law gives every pair of a truth and a release a whole number of the 2^64 words. Its proof
    (symbol sampling specification, section 2) asks for lower bounds only, so doubles may decide as
    long as they err upwards: E is at most e^epsilon, g at most E - 1, and `UP` covers the last
    roundings.

    >>> bound = PrivacyBound.of(1.0)
    >>> bound.growth.hex(), bound.gain.hex(), bound.charge
    ('0x1.5bf0a8b145769p+1', '0x1.b7e151628aed2p+0', 1099511627776)
    >>> PrivacyBound.of(1e-18)
    Traceback (most recent call last):
    ValueError: epsilon: 1e-18 nats is too small for words of 64 bits; raise it

    Source: symbol sampling specification, sections 1, 3 and 4.
    """

    epsilon: float
    growth: float
    gain: float

    @classmethod
    def of(cls, epsilon: float) -> "PrivacyBound":
        """Raise `ValueError` unless 0 < epsilon <= 50, and where E - 1 has no digits left."""
        if not isfinite(epsilon) or not 0.0 < epsilon <= LARGEST_EPSILON:
            raise ValueError(
                f"epsilon: must be above 0 and at most {LARGEST_EPSILON:g} nats, not {epsilon}"
            )
        with localcontext() as context:
            context.prec = 60
            growth = _largest_up_to(Fraction(Decimal(epsilon).exp()))
        if growth <= 1.0:
            raise ValueError(_too_small(epsilon))
        return cls(float(epsilon), growth, _largest_up_to(Fraction(growth) - 1))

    @cached_property
    def charge(self) -> int:
        """Return epsilon in units of 2^-40 nat, rounded up: no release by the law costs more."""
        return units_of(self.epsilon)

    def reserve(self, symbols: int) -> float:
        """Return the words kept for rounding, where a law has two shared rows (stay or fill)."""
        return self.checked_reserve((symbols + 4) * _ROUNDING_WORDS)

    def reserve_of_rows(self, support: int, largest_row: int) -> float:
        """Return the words kept where every truth has a row, of at most `largest_row`."""
        return self.checked_reserve(support * ((largest_row + 4) * _ROUNDING_WORDS))

    def checked_reserve(self, words: int) -> float:
        """Return so many words and what each may add to U; `ValueError` for too many."""
        reserve = words * ((self.growth + 1.0) / self.gain)
        if reserve >= _LARGEST_RESERVE:
            raise ValueError(_too_small(self.epsilon))
        return reserve


def doubt(distance: float, symbols: int) -> float:
    """Return rho, the relative price of a belief within `distance` (Hilbert) of the exact one.

    It covers the law's own arithmetic, too. `distance` is at most `LARGEST_DISTANCE`.
    """
    return distance * UP + distance * distance + (4 * symbols + 64) * UNIT_ROUNDOFF


def _largest_up_to(exact: Fraction) -> float:
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else nextafter(nearest, 0.0)


def _too_small(epsilon: float) -> str:
    return f"epsilon: {epsilon:g} nats is too small for words of 64 bits; raise it"
