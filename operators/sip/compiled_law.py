"""Compiled release laws for 0/1 distance, one for each stream of a step."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fugu.operators.compiled.compiling import entry_point, inlined
from fugu.operators.compiled_charges import charge_up_to
from fugu.operators.mechanism import Array, Floats, Integers, Words
from fugu.operators.sip import compiled_integer_law as law_of
from fugu.operators.sip.compiled_hamming_law import LAW_ROWS, Room
from fugu.operators.sip.compiled_integer_law import WORD_ROWS, Law, Limits, limits_of, predict_dense
from fugu.operators.sip.privacy_bound import PrivacyBound


@dataclass(frozen=True, eq=False)
class CompiledLaw:
    """Draw, charge and learn by the laws at beliefs `(n, rows)`, with the bits of `IntegerLaw`."""

    belief: Floats
    bound: PrivacyBound
    doubt: Floats
    full_support: bool = False

    def draw(self, symbols: Integers, words: Words) -> Integers:
        """Release what the word of each column says."""
        drawn = np.empty(len(symbols), dtype=np.int64)
        _draw(self._made, symbols, words, drawn)
        return drawn

    def posterior(self, released: Integers) -> Floats:
        """Return P(x | y and everything released before)."""
        told = np.empty(self._beliefs.shape)
        _correct(self._beliefs, self._made, released, told)
        return np.ascontiguousarray(told.T)

    @property
    def charge(self) -> Integers:
        """Return the units that cover the leakage of each release."""
        return self._made.charges

    @cached_property
    def _beliefs(self) -> Floats:
        return np.ascontiguousarray(self.belief.T)

    @cached_property
    def _made(self) -> "_Laws":
        rows, symbols = self._beliefs.shape
        laws, limits = _Laws.of(rows, symbols), limits_of(self.bound, symbols, self.full_support)
        _make(self._beliefs, limits, self.doubt, laws, Room.of(symbols))
        return laws


def predicted(posterior: Floats, transitions: Floats) -> Floats:
    """Return P(next symbol), `(rows, n)`, from posteriors `(n, rows)` and a chain for each row."""
    beliefs = np.empty(posterior.T.shape)
    _predict(np.ascontiguousarray(posterior.T), transitions, beliefs)
    return beliefs


class _Laws(NamedTuple):
    """Hold the results of `compiled_integer_law.make`, one row for each belief."""

    laws: Floats
    words: Words
    partials: Integers
    totals: Words
    constants: Integers
    charges: Integers

    @classmethod
    def of(cls, rows: int, symbols: int) -> "_Laws":
        laws = np.empty((rows, LAW_ROWS, symbols))
        words = np.empty((rows, WORD_ROWS, symbols), dtype=np.uint64)
        totals = np.empty(rows, dtype=np.uint64)
        partials, constants, charges = np.empty((3, rows), dtype=np.int64)
        return cls(laws, words, partials, totals, constants, charges)


@entry_point
def _make(beliefs: Floats, limits: Limits, doubts: Floats, made: _Laws, room: Room) -> None:
    for row in range(len(beliefs)):
        law, ratio = law_of.make(
            beliefs[row], limits, doubts[row], made.laws[row], made.words[row], room
        )
        made.partials[row], made.totals[row] = law.partial, law.total
        made.constants[row] = law.constant
        made.charges[row] = charge_up_to(ratio, limits.growth, limits.at_most)


@inlined
def _law_of(made: _Laws, row: int) -> Law:
    """Return the law of one row."""
    of_row = made.partials[row], made.totals[row], made.constants[row]
    return Law(made.laws[row], made.words[row], of_row[0], of_row[1], of_row[2])


@entry_point
def _draw(made: _Laws, symbols: Integers, words: Words, drawn: Integers) -> None:
    for row in range(len(symbols)):
        drawn[row] = law_of.draw(_law_of(made, row), symbols[row], words[row])


@entry_point
def _correct(beliefs: Floats, made: _Laws, released: Integers, posteriors: Floats) -> None:
    for row in range(len(beliefs)):
        law_of.correct(beliefs[row], _law_of(made, row), released[row], posteriors[row])


@entry_point
def _predict(posteriors: Floats, transitions: Array, predicted: Floats) -> None:
    for row in range(len(posteriors)):
        predict_dense(posteriors[row], transitions[row], predicted[row])
