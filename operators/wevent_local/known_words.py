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

    @classmethod
    def none(cls) -> "KnownWords":
        """Know nothing."""
        numbers, words = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
        return cls(numbers, words, numbers, numbers, words)

    def with_kept(self, units: int, words: int) -> "KnownWords":
        """Return the same with the words of a budget."""
        place = np.searchsorted(self.units, units)
        if units in self.units[place : place + 1]:
            return self
        kept = np.insert(self.kept, place, np.uint64(words))
        return self._replace(units=np.insert(self.units, place, units), kept=kept)

    def with_wish(self, offered: int, case: int, words: int) -> "KnownWords":
        """Return the same with the words of a decision."""
        first, end = (np.searchsorted(self.offered, offered, side) for side in ("left", "right"))
        place = first + np.searchsorted(self.cases[first:end], case)
        return self._replace(
            offered=np.insert(self.offered, place, offered),
            cases=np.insert(self.cases, place, case),
            wishes=np.insert(self.wishes, place, np.uint64(words)),
        )


@dataclass(eq=False)
class WordMemo:
    """Compute numbers of words when they are missing, and remember some of them."""

    kept_words: Callable[[int], int]
    wish_words: Callable[[bool, int, int], int]
    known: KnownWords = field(default_factory=KnownWords.none)

    def learn(self, units: int, case: int) -> None:
        """Remember the words of a budget and, unless the case is -1, of a decision with it."""
        known = self.known
        if len(known.units) + len(known.offered) >= MOST_KNOWN:
            known = KnownWords.none()
        known = known.with_kept(units, self.kept_words(units))
        if case >= 0:
            words = self.wish_words(case % 2 == 1, case // 2, units)
            known = known.with_wish(units, case, words)
        self.known = known
