"""Frequency oracles: how a symbol is reported with a budget, and what many reports estimate."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from fugu.operators.budget_units import charge_of_exact_ratio, in_nats
from fugu.operators.columns import binding_digest
from fugu.operators.mechanism import Draws, Floats, Integers, Words
from fugu.operators.randomness import draws_of
from fugu.operators.responses.randomized_response import WORDS, Odds
from fugu.operators.wevent.allocation import Booleans

OracleName = Literal["sue", "grr", "oue"]
LARGEST_ALPHABET = 2**16
SMALLEST_REPORT = 2**12
"""No report is asked for with fewer units of 2^-40 nat: 64-bit words could not tell its odds."""
_MOST_KNOWN = 2**12
"""Bound the budgets whose odds are remembered."""
_WORDS_AT_ONCE = 2**22
"""Bound the memory of draws, whatever the number of users."""


@dataclass(frozen=True)
class Frequencies(ABC):
    """Report one of `symbols` at random, with `units` of 2^-40 nat.

    Claim. No report is more than e^units times as likely under one symbol as under another. Words
    are compared with integers, so the claim is exact. A report *supports* the true symbol with
    probability p and any other with q, so (supports - m q) / (p - q) of m reports is an unbiased
    estimate of how many of the reporters have a symbol.

    >>> unary = oracle("sue", symbols=3, units=2**40)
    >>> round(unary.p, 6), round(unary.q, 6), round(unary.spread, 6)
    (0.622459, 0.377541, 3.917698)

    Source: PBA specification, sections 3 (SUE) and 4 (LDP-IDS; GRR, OUE); Wang et al. 2017.
    """

    symbols: int
    units: int

    @property
    @abstractmethod
    def odds(self) -> Odds:
        """Return the odds of the law."""

    @property
    @abstractmethod
    def p(self) -> float:
        """Return the probability that a report supports the true symbol."""

    @property
    def q(self) -> float:
        """Return the probability that a report supports a given other symbol."""
        return self.odds.unlikely

    @property
    @abstractmethod
    def words(self) -> int:
        """Return how many words a report is drawn from."""

    @abstractmethod
    def supports(self, symbols: Integers, words: Words) -> Integers:
        """Return how many reports support each symbol, from words `(reports, words)`."""

    @property
    @abstractmethod
    def charge(self) -> int:
        """Return the exact loss of the law that is drawn, in units, rounded up."""

    @abstractmethod
    def outcomes(self) -> Floats:
        """Return P(report given symbol), `(symbols, reports)`, for few symbols."""

    @property
    def spread(self) -> float:
        """Return the variance of a symbol's estimate per reporter, as the mean over symbols.

        Each symbol counts as the truth of an equal part of them. For SUE it is the same for all.
        """
        p, q, share = self.p, self.q, 1.0 / self.symbols
        variance = share * p * (1.0 - p) + (1.0 - share) * q * (1.0 - q)
        return variance / ((p - q) * (p - q))

    def report(self, symbols: Integers, draws: Draws, purpose: str) -> Integers:
        """Return how many reports of these true symbols support each symbol, `(symbols,)`.

        Draws are bound to the symbol and to the budget: reports with different budgets are
        independent, and add up.
        """
        bindings = [binding_digest(symbol, self.units) for symbol in range(self.symbols)]
        total = np.zeros(self.symbols, dtype=np.int64)
        for some in _parts(len(symbols), max(1, _WORDS_AT_ONCE // self.words)):
            bound = [bindings[symbol] for symbol in symbols[some].tolist()]
            own = draws if len(some) == len(symbols) else draws_of(draws, some, len(symbols))
            words = own.words(purpose, bound, count=self.words)[:, 0]
            total += self.supports(symbols[some], words)
        return total


class SymmetricUnary(Frequencies):
    """Report every symbol as a bit, each flipped with probability 1 / (e^(units / 2) + 1) (SUE)."""

    @property
    def odds(self) -> Odds:
        return _odds(1, self.units, 2)

    @property
    def p(self) -> float:
        return self.odds.likely

    @property
    def words(self) -> int:
        return self.symbols

    def supports(self, symbols: Integers, words: Words) -> Integers:
        kept = words < np.uint64(self.odds.favoured)
        return np.asarray((kept == _truth(symbols, self.symbols)).sum(axis=0, dtype=np.int64))

    @property
    def charge(self) -> int:
        odds = self.odds
        return charge_of_exact_ratio(Fraction(odds.favoured, odds.each) ** 2)

    def outcomes(self) -> Floats:
        return _of_bits(self.symbols, self.p, self.q)


class OptimizedUnary(Frequencies):
    """Set the bit of the true symbol half of the time, and others seldom (OUE)."""

    @property
    def odds(self) -> Odds:
        return _odds(1, self.units, 1)

    @property
    def p(self) -> float:
        return 0.5

    @property
    def words(self) -> int:
        return self.symbols

    def supports(self, symbols: Integers, words: Words) -> Integers:
        truth, each = _truth(symbols, self.symbols), np.uint64(self.odds.each)
        bits = words < np.where(truth, np.uint64(WORDS // 2), each)
        return np.asarray(bits.sum(axis=0, dtype=np.int64))

    @property
    def charge(self) -> int:
        return self.odds.charge

    def outcomes(self) -> Floats:
        return _of_bits(self.symbols, self.p, self.q)


class OneOfAll(Frequencies):
    """Report the true symbol, or by chance any other one (GRR)."""

    @property
    def odds(self) -> Odds:
        return _odds(self.symbols - 1, self.units, 1)

    @property
    def p(self) -> float:
        return self.odds.likely

    @property
    def words(self) -> int:
        return 1

    def supports(self, symbols: Integers, words: Words) -> Integers:
        answers = self.odds.answer(symbols, words[:, 0])
        return np.bincount(answers, minlength=self.symbols).astype(np.int64)

    @property
    def charge(self) -> int:
        return self.odds.charge

    def outcomes(self) -> Floats:
        return np.where(np.eye(self.symbols, dtype=bool), self.p, self.q)


_ORACLES: dict[OracleName, type[Frequencies]] = {
    "sue": SymmetricUnary,
    "grr": OneOfAll,
    "oue": OptimizedUnary,
}
ORACLES = tuple(_ORACLES)


def oracle(name: OracleName, symbols: int, units: int) -> Frequencies:
    """Return the oracle of this name, for reports with so many units."""
    return _ORACLES[name](symbols, units)


@lru_cache(_MOST_KNOWN)
def _odds(others: int, units: int, parts: int) -> Odds:
    return Odds.of(others, in_nats(units) / parts)


def _truth(symbols: Integers, count: int) -> Booleans:
    return np.asarray(symbols[:, None] == np.arange(count))


def _of_bits(symbols: int, p: float, q: float) -> Floats:
    """Return the law of independent bits; report i is the set whose members are the bits of i."""
    reports = np.arange(2**symbols)[:, None] >> np.arange(symbols) & 1
    chances = np.where(np.eye(symbols, dtype=bool), p, q)[:, None]
    return np.asarray(np.where(reports[None], chances, 1.0 - chances).prod(axis=2))


def _parts(count: int, size: int) -> Iterator[Integers]:
    for first in range(0, count, size):
        yield np.arange(first, min(first + size, count))
