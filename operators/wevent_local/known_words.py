"""Remember how many words decide and keep bits, for compiled code, which cannot compute them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fugu.operators.mechanism import Integers, Words

MOST_KNOWN = 2**16
"""Bound the numbers of words that are remembered."""


class KnownWords(NamedTuple):
    """Hold numbers of words, sorted by what they belong to.

    `kept` of 2^64 words keep a bit of a report with a budget in `units`. `wishes` are for a new
    report that is `offered` so many units, in the case `2 ones + holds` of the one in force.
    """

    units: Integers
    kept: Words
    offered: Integers
    cases: Integers
    wishes: Words


@dataclass(eq=False)
class WordMemo:
    """Compute numbers of words when they are asked for, and remember some of them."""

    kept_words: Callable[[int], int]
    wish_words: Callable[[bool, int, int], int]
    _kept: dict[int, int] = field(default_factory=dict)
    _wishes: dict[tuple[int, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = self._sorted()

    def learn(self, units: int, case: int) -> None:
        """Remember the words of a budget and, unless the case is -1, of a decision with it."""
        if len(self._kept) + len(self._wishes) >= MOST_KNOWN:
            self._kept, self._wishes = {}, {}
        self._kept[units] = self.kept_words(units)
        if case >= 0:
            self._wishes[units, case] = self.wish_words(case % 2 == 1, case // 2, units)
        self.known = self._sorted()

    def _sorted(self) -> KnownWords:
        kept, wishes = sorted(self._kept.items()), sorted(self._wishes.items())
        return KnownWords(
            np.array([units for units, _ in kept], dtype=np.int64),
            np.array([words for _, words in kept], dtype=np.uint64),
            np.array([offered for (offered, _), _ in wishes], dtype=np.int64),
            np.array([case for (_, case), _ in wishes], dtype=np.int64),
            np.array([words for _, words in wishes], dtype=np.uint64),
        )
