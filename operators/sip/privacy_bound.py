"""Bound integer release laws by an epsilon, and the error of beliefs that are doubles."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite, nextafter

import numpy as np
from numpy.typing import ArrayLike

from fugu.operators.budget_units import units_of
from fugu.operators.mechanism import Floats, Integers, State

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


@dataclass(frozen=True, eq=False)
class PrivacyBounds:
    """Hold the constants of integer release laws whose columns have epsilons of their own.

    They are those of `PrivacyBound`, and `reserve`, the words that each keeps for rounding.

    >>> bounds = PrivacyBounds.of([PrivacyBound.of(1.0), PrivacyBound.of(2.0)], symbols=2)
    >>> bounds.at(np.array([1, 0, 1])).charge.tolist() == [2**41, 2**40, 2**41]
    True
    """

    growth: Floats
    gain: Floats
    reserve: Floats
    charge: Integers

    @classmethod
    def of(cls, bounds: Sequence[PrivacyBound], symbols: int) -> "PrivacyBounds":
        """Join the constants of several epsilons."""
        return cls(
            np.array([bound.growth for bound in bounds]),
            np.array([bound.gain for bound in bounds]),
            np.array([bound.reserve(symbols) for bound in bounds]),
            np.array([bound.charge for bound in bounds], dtype=np.int64),
        )

    def at(self, numbers: Integers) -> "PrivacyBounds":
        """Return those with these numbers, one for each column."""
        return PrivacyBounds(
            self.growth[numbers], self.gain[numbers], self.reserve[numbers], self.charge[numbers]
        )


BIT_LENGTHS = 65
PREDICTIONS = "predictions"
"""The column that counts them, where they are counted."""
_SLACK = 1.0 + 2.0**-20
_CONSTANT_BELOW = 2.0**-20
"""A distance that is never larger need not be counted: the law hardly pays for it."""


@dataclass(frozen=True)
class Radius:
    """Bound how far a belief computed in doubles may be from the exact one.

    `step` is what one step adds, and `most` what is never exceeded.

    Distances are Hilbert's, ln max(b/b*) - ln min(b/b*), which is relative in every entry:
    correcting both beliefs by one release leaves it alone, predicting contracts it, and a step adds
    at most `step` for its roundings. After k predictions it is at most step * min(2^bitlen(k),
    memory), however the path went. A law pays for it with a little accuracy
    (`privacy_bound.doubt`), and nothing is charged.

    >>> radius = Radius.of(roundings=2, excess=0.0, memory=1e12)
    >>> radius.counted, (radius.distances([0, 1, 1000]) / radius.step).tolist()
    (True, [1.0, 2.0, 1024.0])

    Source: symbol sampling specification, section 6.
    """

    step: float
    most: float

    @classmethod
    def of(cls, roundings: int, excess: float, memory: float) -> "Radius":
        """Return that of a chain; see `Chain` for `roundings`, `excess` and `memory`."""
        step = 2.0 * (roundings + 8) * UNIT_ROUNDOFF * _SLACK + 2.0 * excess * _SLACK
        return cls(step, step * memory)

    @property
    def counted(self) -> bool:
        """Return whether states count predictions, since the bound depends on them."""
        return self.most > _CONSTANT_BELOW

    def distances(self, predictions: ArrayLike) -> Floats:
        """Return the bound after so many predictions."""
        return self._by_bit_length[bit_lengths(np.asarray(predictions, dtype=np.int64))]

    def doubts(self, symbols: int) -> Floats:
        """Return what laws over so many symbols pay, by the bit length of the number of
        predictions.

        Infinity: the belief may be anywhere, and only a constant can be released.
        """
        paid = [
            inf if distance > LARGEST_DISTANCE else doubt(distance, symbols)
            for distance in self._by_bit_length.tolist()
        ]
        return np.array(paid)

    def start(self, rows: int) -> State:
        """Start to count predictions, if they are counted."""
        return {PREDICTIONS: np.zeros(rows, dtype=np.int64)} if self.counted else {}

    def after(self, state: State, steps: Integers | int = 1) -> State:
        """Count so many more predictions, of releases, gaps and skips alike."""
        return {PREDICTIONS: state[PREDICTIONS] + steps} if self.counted else {}

    def doubt(self, state: State, doubts: Floats) -> Floats:
        """Return what the law of each row pays: one of `doubts`."""
        if not self.counted:
            return np.full(len(state["belief"]), doubts[0])
        return doubts[bit_lengths(state[PREDICTIONS])]

    @property
    def _by_bit_length(self) -> Floats:
        if not self.counted:
            return np.full(BIT_LENGTHS, self.most)
        return np.minimum(self.step * np.ldexp(1.0, np.arange(BIT_LENGTHS)), self.most)


def bit_lengths(numbers: Integers) -> Integers:
    """Return how many binary digits each number has, or one more where doubles cannot tell.

    >>> bit_lengths(np.array([0, 1, 2, 3, 4])).tolist()
    [0, 1, 2, 2, 3]
    """
    return np.asarray(np.frexp(numbers.astype(np.float64))[1].astype(np.int64))
