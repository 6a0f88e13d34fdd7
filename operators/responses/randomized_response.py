"""Exact odds and constant charges of mechanisms that answer about one symbol at random."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from math import ceil, isfinite

import numpy as np

from fugu.operators.budget_units import charge_of_exact_ratio, in_nats
from fugu.operators.columns import ByteColumn, binding_digest
from fugu.operators.guarantee import Guarantee, Point, local_privacy
from fugu.operators.mechanism import Inputs, Integers, Words
from fugu.operators.multi_step import IndependentReleases
from fugu.operators.responses.frequency_estimates import standard_errors
from fugu.operators.whole_numbers import take_whole_numbers

WORDS = 2**64
LARGEST_EPSILON = 50.0
LARGEST_ALPHABET = 2**20
_EXAMPLE_RELEASES = 10_000
_SHARES = Point("shares", "shares of symbols over many records, which are meant to be estimated")
_PROOF = Point("exact-words", "SIP specification, section 9; epsilon is exact for the words drawn")


@dataclass(frozen=True)
class Odds:
    """Draw one favoured outcome against equally likely `others`, exactly.

    A release is drawn by comparing 64-bit words with integers, so every probability of its law is a
    whole number of words out of 2^64, and the law's epsilon is the logarithm of a ratio of
    integers. *That* epsilon is claimed and charged, rounded up to 2^-40 nat; it is never more than
    the declared one, rounded up in the same way, and no delta is added for finite precision.

    >>> odds = Odds.of(others=3, epsilon=1.0)
    >>> round(odds.favoured / WORDS, 6), round(odds.each / WORDS, 6), odds.charge
    (0.475367, 0.174878, 1099511627776)

    Source: SIP specification, section 9; noise specification, section 3, for what is compared with.
    """

    others: int
    each: int

    @classmethod
    def of(cls, others: int, epsilon: float) -> "Odds":
        """Make the favoured outcome e^epsilon times as likely as each other one, or a little
        less.

        Rounding up what the others get rounds epsilon down.
        """
        if not isfinite(epsilon) or not 0.0 < epsilon <= LARGEST_EPSILON:
            raise ValueError(
                f"epsilon: must be above 0 and at most {LARGEST_EPSILON:g} nats, not {epsilon}"
            )
        with localcontext() as context:
            context.prec = 60
            odds = cls(others, ceil(WORDS / (Decimal(epsilon).exp() + others)))
        if odds.favoured <= odds.each:
            raise ValueError(f"epsilon: {epsilon:g} nats is below what 64-bit words can tell apart")
        return odds

    @cached_property
    def favoured(self) -> int:
        """Return how many words give the favoured outcome."""
        return WORDS - self.others * self.each

    @cached_property
    def likely(self) -> float:
        """Return the probability of the favoured outcome."""
        return self.favoured / WORDS

    @cached_property
    def unlikely(self) -> float:
        """Return the probability of a given other outcome."""
        return self.each / WORDS

    def answer(self, truth: Integers, words: Words) -> Integers:
        """Return the outcome of each word among `others` + 1, of which the truth is favoured.

        The first words keep the truth, and each other outcome gets as many as any.
        """
        favoured = np.uint64(self.favoured)
        kept = words < favoured
        beyond = np.where(kept, 0, words - favoured) // np.uint64(self.each)
        other = beyond.astype(np.int64)
        return np.where(kept, truth, other + (other >= truth))

    @cached_property
    def charge(self) -> int:
        """Return ln(favoured / each) in units of 2^-40 nat, rounded up."""
        return charge_of_exact_ratio(Fraction(self.favoured, self.each))


@dataclass(frozen=True, eq=False)
class RandomizedResponse(IndependentReleases):
    """`symbols` of an alphabet, and `epsilon` in nats per release.

    Raises `ValueError` for fewer than 2 symbols, for an epsilon out of bounds, and, in `step`, for
    a symbol outside 0..symbols-1.
    """

    symbols: int
    epsilon: float
    odds: Odds = field(init=False, repr=False)

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if not 2 <= self.symbols <= LARGEST_ALPHABET:
            raise ValueError(f"symbols: must be 2 to {LARGEST_ALPHABET}, not {self.symbols}")
        object.__setattr__(self, "odds", Odds.of(self._others, self.epsilon))

    @property
    @abstractmethod
    def _others(self) -> int:
        """Return the number of outcomes that the favoured one has against it."""

    @property
    @abstractmethod
    def reported_if_true(self) -> float:
        """Return P(a release reports v given that v is the truth)."""

    @property
    @abstractmethod
    def reported_if_other(self) -> float:
        """Return P(a release reports v given that another symbol is the truth)."""

    @cached_property
    def largest_charge(self) -> int:
        """Return the epsilon of the law that is drawn."""
        return self.odds.charge

    def guarantees(self) -> tuple[Guarantee, ...]:
        promised = local_privacy(
            in_nats(self.largest_charge),
            "symbol",
            own=_SHARES,
            proof=_PROOF,
        )
        return (promised,)

    def audit(self) -> Mapping[str, object]:
        """Return the law of one release, its cost, and how exactly shares can be estimated."""
        error = standard_errors(np.zeros(1), _EXAMPLE_RELEASES, self)
        return {
            "probability that the true symbol is reported": self.reported_if_true,
            "probability that a given other symbol is reported": self.reported_if_other,
            "charge per release in nats": in_nats(self.largest_charge),
            f"standard error of a rare share, {_EXAMPLE_RELEASES} releases": float(error[0]),
        }

    def _checked_symbols(self, inputs: Inputs) -> Integers:
        symbols = inputs.values.astype(np.int64, copy=False)
        if ((symbols < 0) | (symbols >= self.symbols)).any():
            raise ValueError(f"a symbol index is outside 0..{self.symbols - 1}")
        return symbols

    def _bound_to(self, symbols: Integers) -> ByteColumn:
        return self._bindings.taken(symbols)

    @cached_property
    def _bindings(self) -> ByteColumn:
        return ByteColumn.of([binding_digest(symbol) for symbol in range(self.symbols)])
