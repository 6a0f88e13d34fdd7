"""Integer laws for 0/1 distance, one for each row: see `integer_law` for one of them.

Beliefs and posteriors are `(rows, n)`, transitions `(rows, n, n)`.
"""

from typing import NamedTuple

import numpy as np

from fugu.operators.compiled.compiling import entry_point
from fugu.operators.compiled_charges import charge_up_to
from fugu.operators.mechanism import Array, Floats, Integers, Words
from fugu.operators.sip import compiled_integer_law as law_of
from fugu.operators.sip.compiled_hamming_law import LAW_ROWS, Room
from fugu.operators.sip.compiled_integer_law import WORD_ROWS, Limits
from fugu.operators.sip.compiled_markov_step import predict_dense


class Laws(NamedTuple):
    """What `integer_law` makes of each row."""

    laws: Floats
    words: Words
    partials: Integers
    totals: Words
    constants: Integers
    charges: Integers

    @classmethod
    def of(cls, rows: int, symbols: int) -> "Laws":
        """Room for them."""
        laws = np.empty((rows, LAW_ROWS, symbols))
        words = np.empty((rows, WORD_ROWS, symbols), dtype=np.uint64)
        totals = np.empty(rows, dtype=np.uint64)
        partials, constants, charges = np.empty((3, rows), dtype=np.int64)
        return cls(laws, words, partials, totals, constants, charges)


@entry_point
def make(beliefs: Floats, limits: Limits, doubts: Floats, made: Laws, room: Room) -> None:
    """Write the law of each belief, and what its release costs."""
    for row in range(len(beliefs)):
        partial, total, ratio, constant = law_of.make(
            beliefs[row], limits, doubts[row], made.laws[row], made.words[row], room
        )
        made.partials[row], made.totals[row], made.constants[row] = partial, total, constant
        made.charges[row] = charge_up_to(ratio, limits.growth, limits.at_most)


@entry_point
def draw(made: Laws, symbols: Integers, words: Words, drawn: Integers) -> None:
    """A release for each row."""
    for row in range(len(symbols)):
        drawn[row] = law_of.draw(
            made.words[row],
            made.totals[row],
            made.partials[row],
            made.constants[row],
            symbols[row],
            words[row],
        )


@entry_point
def correct(beliefs: Floats, made: Laws, released: Integers, posteriors: Floats) -> None:
    """What a release of each row says."""
    for row in range(len(beliefs)):
        law_of.correct(
            beliefs[row],
            made.laws[row],
            made.words[row],
            made.partials[row],
            made.constants[row],
            released[row],
            posteriors[row],
        )


@entry_point
def predict(posteriors: Floats, transitions: Array, predicted: Floats) -> None:
    """Every row by a chain of its own."""
    for row in range(len(posteriors)):
        predict_dense(posteriors[row], transitions[row], predicted[row])
