"""Words from which mechanisms make chosen noise."""

from collections.abc import Sequence

import numpy as np

from fugu.operators.mechanism import Integers, Words
from fugu.operators.noise.unit_laplace import WORDS_PER_DRAW

_DIGITS = WORDS_PER_DRAW // 2


class ChosenNumbers:
    """Draw for one tick of one row words of chosen geometric numbers `(draws, 2)`."""

    def __init__(self, numbers: Integers) -> None:
        two = ("dissimilarity", "release")
        purposes = two if len(numbers) == 2 else ("deviation", "release", "threshold")
        self._numbers = dict(zip(purposes, numbers.tolist(), strict=True))

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """Return words below all thresholds for digits that are 1, and above all for the others."""
        assert (len(binding), coordinates, count) == (1, 1, WORDS_PER_DRAW)
        digits = [
            (number >> digit) & 1 for number in self._numbers[purpose] for digit in range(_DIGITS)
        ]
        words: Words = np.where(np.array(digits), np.uint64(0), np.uint64(2**64 - 1))
        return words.reshape(1, 1, count)
