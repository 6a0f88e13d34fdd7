"""Decide with noise whether the report in force still says what is true."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from functools import cached_property, lru_cache

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Integers, Words
from fugu.operators.responses.randomized_response import WORDS, Odds
from fugu.operators.wevent.allocation import Booleans

_DIGITS = 60
_MOST_KNOWN = 2**16
"""Bound the answers whose words are remembered."""


@dataclass(frozen=True, eq=False)
class Dissimilarity(ABC):
    """Wish for a new report, more often where the one in force does not hold the true symbol.

    Claim. The wish is one bit, and `units` of 2^-40 nat private: given the report, the distance of
    the truth from it takes two values, and neither answer is more than e^units times as likely
    under one as under the other. Words decide, so the claim is exact.
    """

    symbols: int
    units: int

    @abstractmethod
    def wish_words(self, holds: bool, ones: int, offered: int) -> int:
        """Return how many of 2^64 words wish for a new report.

        The report in force `holds` the true symbol or not, and has so many `ones`; the new one
        would be `offered` so many units.
        """

    @property
    def constant_words(self) -> tuple[int, ...]:
        """Return `wish_words` where the report does not hold the symbol, and where it does; nothing
        where they depend on more."""
        return ()

    def wishes(self, holds: Booleans, ones: Integers, offered: Integers, words: Words) -> Booleans:
        """Return which rows wish for a new report."""
        asked, places = np.unique(
            np.stack([holds.astype(np.int64), ones, offered]), axis=1, return_inverse=True
        )
        thresholds = [self.wish_words(bool(h), s, o) for h, s, o in asked.T.tolist()]
        return np.asarray(words < np.array(thresholds, dtype=np.uint64)[places.ravel()])


class ResponseDissimilarity(Dissimilarity):
    """Answer by randomized response whether the report holds the true symbol.

    >>> response = ResponseDissimilarity(symbols=3, units=2**40)
    >>> round(response.wish_words(False, 1, 2**40) / 2**64, 6)
    0.731059

    Source: PBA specification, section 3 ("Why one bit").
    """

    @cached_property
    def _odds(self) -> Odds:
        return Odds.of(others=1, epsilon=in_nats(self.units))

    @property
    def constant_words(self) -> tuple[int, ...]:
        return self._odds.favoured, self._odds.each

    def wish_words(self, holds: bool, ones: int, offered: int) -> int:
        return self.constant_words[holds]


@dataclass(frozen=True, eq=False)
class LaplaceDissimilarity(Dissimilarity):
    """Wish if the distance plus Laplace noise exceeds the error that a new report would have.

    The distance is (1/n) sum |y_j - x_j| for n symbols, and changes by at most 2/n, so the scale is
    2 / (n units); the threshold is the chance f that a bit of the new report is flipped. The noise
    is seen through one comparison only, so what is drawn is one bit with that probability, rounded
    to words towards less loss.

    >>> laplace = LaplaceDissimilarity(symbols=3, units=2**40)
    >>> round(laplace.wish_words(False, 1, 2**40) / 2**64, 6)
    0.675943

    Source: PBA specification, section 3 (alternative `laplace`).
    """

    def wish_words(self, holds: bool, ones: int, offered: int) -> int:
        return self._known_words(holds, ones, offered)

    @cached_property
    def _known_words(self) -> Callable[[bool, int, int], int]:
        return lru_cache(_MOST_KNOWN)(self._words)

    def _words(self, holds: bool, ones: int, offered: int) -> int:
        least = self._wishing(ones - 1, offered, ROUND_CEILING)
        return least if holds else max(least, self._wishing(ones + 1, offered, ROUND_FLOOR))

    def _wishing(self, apart: int, offered: int, rounding: str) -> int:
        """Return the words that wish where so many bits differ."""
        with localcontext() as context:
            context.prec = _DIGITS
            nats = Decimal(in_nats(self.units))
            threshold = 1 / ((Decimal(in_nats(offered)) / 2).exp() + 1)
            steps = (threshold - Decimal(apart) / self.symbols) * self.symbols * nats / 2
            wishes = (-steps).exp() / 2 if steps >= 0 else 1 - steps.exp() / 2
            words = int((wishes * WORDS).to_integral_value(rounding))
        return min(max(words, 1), WORDS - 1)
