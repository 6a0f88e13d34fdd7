"""Columns of a compiled run over several positions of several streams."""

from typing import NamedTuple

import numpy as np

from fugu.operators.compiled.compiling import inlined, part
from fugu.operators.compiled_blake2b_block import LANES
from fugu.operators.mechanism import Array, Floats, Integers, State, Words
from fugu.operators.sip.belief_radius import PREDICTIONS
from fugu.operators.sip.compiled_hamming_law import LAW_ROWS, Room
from fugu.operators.sip.compiled_integer_law import WORD_ROWS
from fugu.operators.sip.compiled_markov_step import is_distribution

_NO_LIMIT = 2**63 - 1


class Streams(NamedTuple):
    """Hold the columns of a state that a run writes to, one row for each stream."""

    beliefs: Floats
    spent: Integers
    histories: Words
    predictions: Integers
    ended: Array

    @classmethod
    def of(cls, state: State, limit: int) -> "Streams":
        """Share the columns of a state; streams that spent more than `limit` have ended."""
        predictions = state.get(PREDICTIONS, np.zeros(len(state["spent"]), dtype=np.int64))
        ended = np.asarray(state["spent"] > limit)
        return cls(state["belief"], state["spent"], state["history"], predictions, ended)


class Positions(NamedTuple):
    """Hold the row and the symbol of each position, and room for what becomes of it."""

    rows: Integers
    symbols: Integers
    released: Integers
    confidence: Floats
    repeated: Array
    spent: Integers
    paid: Array

    @classmethod
    def of(cls, rows: Integers, symbols: Integers) -> "Positions":
        """Make room for as many positions."""
        count = len(rows)
        released, spent = np.zeros((2, count), dtype=np.int64)
        repeated, paid = np.zeros((2, count), dtype=bool)
        return cls(rows, symbols, released, np.zeros(count), repeated, spent, paid)


class Space(NamedTuple):
    """Hold room for the law at one position, and for what follows from it.

    What is decided with, and words, are those of as many positions as are drawn together.
    """

    law: Floats
    words: Words
    told: Floats
    posterior: Floats
    within: Floats
    decisions: Words
    releases: Words
    room: Room

    @classmethod
    def of(cls, symbols: int) -> "Space":
        """Make room for so many symbols."""
        words = np.empty((WORD_ROWS, symbols), dtype=np.uint64)
        told, posterior = np.empty((2, symbols))
        law, drawn = np.empty((LAW_ROWS, symbols)), np.empty((2, LANES), dtype=np.uint64)
        within, (decisions, releases) = np.zeros(LANES), drawn
        room = Room.of(symbols)
        return cls(law, words, told, posterior, within, decisions, releases, room)


def limit_of(total: int | None) -> int:
    """Return the units that may be spent, as compiled code takes them."""
    return _NO_LIMIT if total is None else total


def require_sound(damaged: int) -> None:
    """Raise `ValueError` for the row that `first_damaged` found."""
    if damaged >= 0:
        raise ValueError(f"the belief of row {damaged} is not a distribution")


@inlined
def first_damaged(beliefs: Floats) -> int:
    """Return the first row whose belief is not a distribution, or -1."""
    for row in range(len(beliefs)):
        if not is_distribution(beliefs[row]):
            return row
    return -1


@part
def together(rows: Integers, position: int) -> int:
    """Return how many positions, from this one on, are drawn together: none of a row twice.

    What a draw is bound to depends on what its row released before.
    """
    most = min(LANES, len(rows) - position)
    for number in range(1, most):
        for earlier in range(number):
            if rows[position + earlier] == rows[position + number]:
                return number
    return most
