"""Intervals of words that make a step do the same, found by halving what lies between others."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats, Integers, Words

LAST_WORD = np.uint64(2**64 - 1)

Labels = Callable[[Integers, Words], Integers]
"""A function from words to what they give, `(words, labels)`, each in the case of its number."""


@dataclass(frozen=True)
class Intervals:
    """Hold intervals of words that give the same: case, first word, share of all, and label."""

    case: Integers
    word: Words
    share: Floats
    label: Integers


def spread(cells: int) -> Words:
    """Return the ends of so many equal intervals of words."""
    words = np.arange(cells + 1, dtype=np.uint64) * np.uint64(2**64 // cells)
    words[-1] = LAST_WORD
    return words


def intervals(words: Words, given: Integers, labels: Labels) -> Intervals:
    """Halve what lies between neighbouring words until they give the same, or are neighbours.

    `given (cases, words, labels)` says what the first words give in each case.
    """
    case = np.repeat(np.arange(len(given)), len(words) - 1)
    left, right = np.tile(words[:-1], len(given)), np.tile(words[1:], len(given))
    at_left = given[:, :-1].reshape(len(case), -1)
    at_right = given[:, 1:].reshape(len(case), -1)
    found = []
    while len(case):
        settled = (at_left == at_right).all(axis=1) | (right - left == 1)
        share = (right - left)[settled].astype(np.float64) * 2.0**-64
        found.append((case[settled], left[settled], share, at_left[settled]))
        case, left, right, at_left, at_right = (
            column[~settled] for column in (case, left, right, at_left, at_right)
        )
        middle = left + (right - left) // np.uint64(2)
        at_middle = labels(case, middle)
        case = np.concatenate([case, case])
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        at_left = np.concatenate([at_left, at_middle])
        at_right = np.concatenate([at_middle, at_right])
    return Intervals(*(np.concatenate(column) for column in zip(*found, strict=True)))
