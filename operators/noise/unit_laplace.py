"""Discrete Laplace noise on the grid of the units themselves, at a price that may vary by row.

    P(n) = tanh(x / 2) e^(-|n| x),   x = price * 2^-40

`price` is what one unit of change costs, in units of budget (2^-40 nat): sums of integers that
differ by at most `sensitivity` units in L1 are told apart by at most sensitivity * price * 2^-40
nats. Nothing is rounded but the price itself, which is an integer.

A draw is the difference of two geometric numbers of ratio e^(-x): each is the quotient, rounded
down, by the price of a geometric number of ratio e^(-2^-40). The binary digits of the latter are
independent, and digit j is 1 with probability 1 / (1 + e^(2^(j - 40))): a threshold for one 64-bit
word, and every word is read. The noise ends at 2^46 / price units, 64 times its scale.

>>> words = np.full((1, WORDS_PER_DRAW), 2**64 - 1, dtype=np.uint64)
>>> words[0, [5, 3]] = 0
>>> sample(words, np.array([10])).tolist()
[4]

Source: noise specification, section 3, with M = 40; PBA specification, section 1 (two-sided
geometric noise).
"""

import numpy as np

from fugu.operators.mechanism import Integers, Words
from fugu.operators.noise.discrete_laplace import SAMPLER

LARGEST = 2**46
"""No draw is farther from zero, at any price."""
TOTAL_VARIATION = 7.44e-19
"""Between a draw from uniform words and P, at most: thresholds and tails of two numbers."""
_SMALL_DIGITS = """
9223372036850581504 9223372036846387200 9223372036837998592 9223372036821221376 9223372036787666944
9223372036720558080 9223372036586340352 9223372036317904896 9223372035781033984 9223372034707292160
9223372032559808512 9223372028264841216 9223372019674906624 9223372002495037440 9223371968135299072
9223371899415822336
"""
_DIGITS = (*map(int, _SMALL_DIGITS.split()), *SAMPLER.digits)
"""round(2^64 p) for digits 0, 1, 2, ...; `tests/operators/noise/derivation.py` derives them. Those
from 2^16 on are the digits of noise with M = 24, on a grid that is as much coarser."""
_OF_WORDS: Words = np.array(_DIGITS, dtype=np.uint64)
WORDS_PER_DRAW = 2 * len(_DIGITS)


def sample(words: Words, price: Integers) -> Integers:
    """Draw once for each 92 words, which are the last axis; `price` broadcasts with the draws."""
    digits = words.reshape(*words.shape[:-1], 2, len(_DIGITS)) < _OF_WORDS
    as_bytes = np.zeros((*digits.shape[:-1], 8), dtype=np.uint8)
    as_bytes[..., :6] = np.packbits(digits, axis=-1, bitorder="little")
    geometric = as_bytes.view("<u8")[..., 0].astype(np.int64)
    return np.asarray(geometric[..., 0] // price - geometric[..., 1] // price)
