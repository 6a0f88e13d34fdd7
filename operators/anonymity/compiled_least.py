"""A set of numbers that gives its least one: marks, and counts of marks in blocks of blocks."""

import numpy as np
from numpy.typing import NDArray

from fugu.operators.compiled.either import part
from fugu.operators.mechanism import Integers

Marks = NDArray[np.uint8]

_BITS = 6


def room_for(numbers: int) -> tuple[Marks, Integers]:
    """Return an empty set for numbers below this one, and where each level begins."""
    sizes = [max(numbers, 1)]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + (1 << _BITS) - 1) >> _BITS)
    begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return np.zeros(int(begins[-1]), dtype=np.uint8), begins[:-1]


@part
def add(marks: Marks, begins: Integers, number: int) -> None:
    """Put a number into the set."""
    if marks[number] != 0:
        return
    marks[number] = 1
    for level in range(1, len(begins)):
        number >>= _BITS
        place = begins[level] + number
        marks[place] += 1
        if marks[place] > 1:
            return


@part
def take_least(marks: Marks, begins: Integers) -> int:
    """Remove the least number and return it; -1 if there is none."""
    top = len(begins) - 1
    if marks[begins[top]] == 0:
        return -1
    number = 0
    for level in range(top - 1, -1, -1):
        number <<= _BITS
        while marks[begins[level] + number] == 0:
            number += 1
    least = number
    for level in range(len(begins)):
        place = begins[level] + number
        marks[place] -= 1
        if marks[place] != 0:
            break
        number >>= _BITS
    return least
