"""Columns of the compiled run of reports: those in force, positions, and what is drawn for some."""

from typing import NamedTuple

import numpy as np

from fugu.operators.compiled_blake2b_block import DIGEST_WORDS, LANES
from fugu.operators.mechanism import Array, Floats, Integers, State, Words


class Reports(NamedTuple):
    """Hold the report in force of each row, and the columns that belong to it."""

    bits: Array
    budget: Integers
    since: Integers
    histories: Words

    @classmethod
    def of(cls, state: State) -> "Reports":
        """Share the columns of a state."""
        return cls(state["report"], state["budget"], state["since"], state["history"])


class Positions(NamedTuple):
    """Hold the row and the symbol of each position, and room for what becomes of it."""

    rows: Integers
    symbols: Integers
    bits: Array
    published: Array
    epsilon: Floats
    spent: Integers

    @classmethod
    def of(cls, rows: Integers, symbols: Integers, size: int) -> "Positions":
        """Make room for as many positions and reports of this size."""
        count = len(rows)
        bits, published = np.zeros((count, size), dtype=bool), np.zeros(count, dtype=bool)
        return cls(rows, symbols, bits, published, np.zeros(count), np.zeros(count, dtype=np.int64))


class Space(NamedTuple):
    """Hold what is offered and drawn for positions that are drawn together.

    `missing` says which words are not known: the units that are offered, and the case of a
    decision.
    """

    decision: Integers
    publication: Integers
    share: Integers
    kept: Words
    wishes: Words
    asked: Array
    held: Integers
    published: Array
    answers: Words
    lanes: Integers
    blocks: Integers
    drawn: Words
    words: Words
    missing: Integers

    @classmethod
    def of(cls, size: int) -> "Space":
        """Make room for reports of this size."""
        decision, publication, share, held, lanes, blocks = np.zeros((6, LANES), dtype=np.int64)
        kept, wishes, answers = np.zeros((3, LANES), dtype=np.uint64)
        asked, published = np.zeros((2, LANES), dtype=bool)
        drawn = np.zeros((LANES, DIGEST_WORDS), dtype=np.uint64)
        whole = -(-size // DIGEST_WORDS) * DIGEST_WORDS
        return cls(
            decision,
            publication,
            share,
            kept,
            wishes,
            asked,
            held,
            published,
            answers,
            lanes,
            blocks,
            drawn,
            np.zeros((LANES, whole), dtype=np.uint64),
            np.zeros(2, dtype=np.int64),
        )
