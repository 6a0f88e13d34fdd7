"""Find digests of 16 bytes among sorted ones, compiled."""

from typing import Any

import numpy as np

from fugu.operators.compiled.compiling import entry_point, part, read_only
from fugu.operators.mechanism import Array, Integers

_WORDS = 2
_HALF = np.uint64(32)
_FIRST_STEP = 64


def places_among(ordered: Array, digests: Array) -> Integers:
    """Return the place of each digest among those in order, or -1; all are strings of bytes."""
    places = np.empty(len(digests), dtype=np.int64)
    _find(_as_words(ordered), _as_words(digests), places)
    return places


def _as_words(digests: Array) -> Integers:
    return read_only(np.require(digests, requirements="A").view(np.int64))


@entry_point
def _find(ordered: Integers, digests: Integers, places: Integers) -> None:
    """Search by halves, around the place where a digest is if all are spread evenly."""
    count = len(ordered) // _WORDS
    for place in range(len(places)):
        first = _swapped(np.uint64(digests[_WORDS * place]))
        second = _swapped(np.uint64(digests[_WORDS * place + 1]))
        guess: Any = np.int64((first >> _HALF) * np.uint64(count) >> _HALF)
        low, high, step = guess, guess, _FIRST_STEP
        while low > 0 and not _is_before(ordered, low - 1, first, second):
            low, step = max(low - step, 0), 2 * step
        step = _FIRST_STEP
        while high < count and _is_before(ordered, high, first, second):
            high, step = min(high + step, count), 2 * step
        while low < high:
            middle = (low + high) // 2
            if _is_before(ordered, middle, first, second):
                low = middle + 1
            else:
                high = middle
        found = low < count and _is_at(ordered, low, first, second)
        places[place] = low if found else -1


@part
def _is_before(ordered: Integers, place: int, first: np.uint64, second: np.uint64) -> bool:
    """Return whether the digest at a place comes before one whose words have the highest first."""
    at = np.uint64(_WORDS * place)
    here = _swapped(np.uint64(ordered[at]))
    if here != first:
        return bool(here < first)
    return bool(_swapped(np.uint64(ordered[at + np.uint64(1)])) < second)


@part
def _is_at(ordered: Integers, place: int, first: np.uint64, second: np.uint64) -> bool:
    at = np.uint64(_WORDS * place)
    if _swapped(np.uint64(ordered[at])) != first:
        return False
    return bool(_swapped(np.uint64(ordered[at + np.uint64(1)])) == second)


@part
def _swapped(word: np.uint64) -> np.uint64:
    """Return a word with its bytes in the other order."""
    for bits, mask in (
        (np.uint64(8), np.uint64(0x00FF00FF00FF00FF)),
        (np.uint64(16), np.uint64(0x0000FFFF0000FFFF)),
        (np.uint64(32), np.uint64(0x00000000FFFFFFFF)),
    ):
        word = (word >> bits) & mask | (word & mask) << bits
    return word
