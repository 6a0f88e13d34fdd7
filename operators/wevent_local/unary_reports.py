"""Symmetric unary encoding with a budget of each report's own."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.responses.randomized_response import WORDS, Odds
from fugu.operators.wevent.allocation import Booleans

_MOST_KNOWN = 2**16
"""Bound the budgets whose odds are remembered."""


@dataclass(frozen=True, eq=False)
class UnaryReports:
    """Report a symbol as `symbols` bits, each kept with probability 1 - f, else flipped (SUE).

    Two symbols differ in two bits, so a report with e nats takes f = 1 / (e^(e/2) + 1), and its
    privacy loss is 2 ln((1 - f) / f), which is at most e for the 64-bit words that are drawn.

    >>> reports = UnaryReports(symbols=3)
    >>> round(reports.flip_chance(2**40 // 40), 10)
    0.4968750407

    Source: PBA specification, section 3 (SUE, thesis eq. 6.2).
    """

    symbols: int

    def odds(self, units: int) -> Odds:
        """Return the odds of a bit to be kept in a report of so many units of 2^-40 nat."""
        return self._known_odds(units)

    @cached_property
    def _known_odds(self) -> Callable[[int], Odds]:
        return lru_cache(_MOST_KNOWN)(lambda units: Odds.of(others=1, epsilon=in_nats(units) / 2.0))

    def flip_chance(self, units: int) -> float:
        """Return f, the probability that a bit of the report is not the true one."""
        return self.odds(units).unlikely

    def kept_words(self, units: int) -> int:
        """Return how many words keep a bit of a report: 2^64 is out of reach."""
        kept = self.odds(units).favoured
        assert kept < WORDS
        return kept

    def report(self, symbols: Integers, units: Integers, words: Words) -> Booleans:
        """Return the bits of one report per row, from words `(rows, symbols)`.

        A symbol beyond the last one has no bit that is true.
        """
        distinct, places = np.unique(units, return_inverse=True)
        thresholds = np.array([self.kept_words(int(one)) for one in distinct], dtype=np.uint64)
        kept = words < thresholds[places][:, None]
        truth = symbols[:, None] == np.arange(self.symbols)
        return np.asarray(truth == kept)

    def chances(self, units: int, reports: Booleans, inputs: int) -> Floats:
        """Return P(report given input), `(inputs, reports)`; the last input may be no symbol."""
        odds = self.odds(units)
        right = reports[None] == np.eye(inputs, self.symbols, dtype=bool)[:, None]
        return np.asarray(np.where(right, odds.likely, odds.unlikely).prod(axis=2))
