"""Count how many of all 2^64 words give each outcome, to the last word, by halving intervals."""

from collections.abc import Callable

import numpy as np

from fugu.operators.mechanism import Integers, Words

_CELLS = 64
_LAST_WORD = 2**64 - 1


def word_counts(outcome: Callable[[Words], Integers], outcomes: int) -> list[int]:
    """`outcome` says what each of some words gives; each outcome is one interval of words.

    Wherever two neighbouring words known so far differ, the one in the middle is asked for.
    """
    cells = [number * 2**64 // _CELLS for number in range(_CELLS)]
    words = np.array([*cells, _LAST_WORD], dtype=np.uint64)
    given = outcome(words)
    left, right, at_left, at_right = words[:-1], words[1:], given[:-1], given[1:]
    counts = [0] * outcomes
    counts[given[-1]] += 1
    while len(left):
        settled = (at_left == at_right) | (right - left == 1)
        widths = (right - left)[settled].tolist()
        for at, width in zip(at_left[settled].tolist(), widths, strict=True):
            counts[at] += width
        left, right, at_left, at_right = (
            column[~settled] for column in (left, right, at_left, at_right)
        )
        middle = left + (right - left) // np.uint64(2)
        at_middle = outcome(middle)
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        at_left = np.concatenate([at_left, at_middle])
        at_right = np.concatenate([at_middle, at_right])
    assert sum(counts) == 2**64
    return counts
