"""Words from a generator that is good enough for simulations, and statistics of what they give."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from fugu.operators.mechanism import Floats, Integers, Words

SMALLEST_P_VALUE = 1e-4


@dataclass(frozen=True)
class SimulatedDraws:
    """Fresh words at every call, whatever they are for."""

    rng: np.random.Generator

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        return self.rng.integers(2**64, size=(len(binding), coordinates, count), dtype=np.uint64)


def p_value(drawn: Integers, probabilities: Floats) -> float:
    """Return p of a chi-square test that 0, 1, 2, ... were drawn with these probabilities."""
    counts = np.bincount(drawn, minlength=len(probabilities))
    expected = probabilities / probabilities.sum() * len(drawn)
    assert len(counts) == len(expected)
    assert expected.min() > 5
    return float(stats.chisquare(counts, expected).pvalue)
