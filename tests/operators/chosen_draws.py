"""Draws whose words a test chooses, to force a release or to simulate."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Integers, Words
from fugu.operators.sip.integer_law import IntegerLaw, SharesLaw
from fugu.operators.sip.kernels import SymbolLaw


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


def towards(law: SymbolLaw, releases: Integers) -> ChosenWords:
    """Words that make an integer law release `releases`, whatever the truths are.

    Each is the first word that gives its release to everybody.
    """
    if isinstance(law, SharesLaw):
        total, everybody = law.total, law.common
    else:
        assert isinstance(law, IntegerLaw)
        total, everybody = law.total, law.repair
    columns = np.arange(len(releases))
    before = np.cumsum(everybody, axis=0, dtype=np.uint64) - everybody
    return ChosenWords(total + before[releases, columns])


def simulated(rng: np.random.Generator, rows: int) -> ChosenWords:
    """Words from a generator that is good enough for simulations."""
    return ChosenWords(rng.integers(2**64, size=rows, dtype=np.uint64))
