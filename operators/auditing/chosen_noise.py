"""Give chosen noise in the place of draws, so that a step can be driven where one wants it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Integers, Words
from fugu.operators.noise.unit_laplace import WORDS_PER_DRAW

_DIGITS = WORDS_PER_DRAW // 2


@dataclass(frozen=True)
class ChosenNoise:
    """Hold the noise of each purpose, `(rows, coordinates)`, in units of budget.

    `price` of them are one unit of value, and what is left over is cut off. Noise of one coordinate
    is that of all.
    """

    by_purpose: Mapping[str, Integers]

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """Return words of two geometric numbers of which one is the noise, and the other one 0."""
        chosen = self.by_purpose[purpose]
        if chosen.shape[1] == 1:
            chosen = np.repeat(chosen, coordinates, axis=1)
        assert chosen.shape == (len(binding), coordinates)
        assert count == WORDS_PER_DRAW
        both = np.stack([np.maximum(chosen, 0), np.maximum(-chosen, 0)], axis=-1)
        ones = both[..., None] >> np.arange(_DIGITS) & 1
        words = np.where(ones, np.uint64(0), np.uint64(2**64 - 1))
        return words.reshape(*chosen.shape, count)


def chosen(decision: Integers, release: Integers) -> ChosenNoise:
    """Choose `decision (rows,)` of tests, and `release (rows, bins)` of what is published."""
    return ChosenNoise({"dissimilarity": decision[:, None], "release": release})
