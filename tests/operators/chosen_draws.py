"""Draws whose words a test chooses, to force a release or to simulate."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from operators.mechanism import Floats, Integers, Words


@dataclass(frozen=True)
class ChosenWords:
    """Hands out `(rows,)` words for the one draw of a step."""

    chosen: Words

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        assert (coordinates, count) == (1, 1)
        assert len(binding) == len(self.chosen)
        return self.chosen[:, None, None]


def towards(probabilities: Floats, releases: Integers) -> ChosenWords:
    """Words that make inversion in symbol order, under `probabilities (rows, n)`, give `releases`.

    Each is the middle of the interval that belongs to the release.
    """
    upper = np.cumsum(probabilities, axis=1)
    rows = np.arange(len(releases))
    middles = upper[rows, releases] - 0.5 * probabilities[rows, releases]
    return ChosenWords((middles * 2.0**53).astype(np.uint64) << np.uint64(11))


def simulated(rng: np.random.Generator, rows: int) -> ChosenWords:
    """Words from a generator that is good enough for simulations."""
    return ChosenWords(rng.integers(2**64, size=rows, dtype=np.uint64))
