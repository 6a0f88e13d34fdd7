"""The bounds that several epsilons set to integer release laws, one for each column."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.privacy_bound import PrivacyBound


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
