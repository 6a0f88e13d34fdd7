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

from operators.mechanism import Integers, Words

LARGEST = 2**46
"""No draw is farther from zero, at any price."""
TOTAL_VARIATION = 7.44e-19
"""Between a draw from uniform words and P, at most: thresholds and tails of two numbers."""
_DIGITS = (
    9223372036850581504,
    9223372036846387200,
    9223372036837998592,
    9223372036821221376,
    9223372036787666944,
    9223372036720558080,
    9223372036586340352,
    9223372036317904896,
    9223372035781033984,
    9223372034707292160,
    9223372032559808512,
    9223372028264841216,
    9223372019674906624,
    9223372002495037440,
    9223371968135299072,
    9223371899415822336,
    9223371761976868864,
    9223371487098961920,
    9223370937343148032,
    9223369837831520256,
    9223367638808264704,
    9223363240761753603,
    9223354444668731413,
    9223336852482687147,
    9223301668110599509,
    9223231299366431403,
    9223090561878152533,
    9222809086902053547,
    9222246136953525589,
    9221120237085829802,
    9218868437585319219,
    9214364840463345254,
    9205357661251751117,
    9187343423086631329,
    9151315908796561063,
    9079268575757738103,
    8935235449059394619,
    8647660713528248895,
    8076418037615682946,
    6964396094736529935,
    4961093570831980854,
    2198905795380358826,
    331787012026708147,
    6186118031800230,
    2075907333724,
    233613,
)
"""round(2^64 p) for digits 0, 1, 2, ...; `tests/operators/noise/derivation.py` derives them."""
_OF_WORDS: Words = np.array(_DIGITS, dtype=np.uint64)
WORDS_PER_DRAW = 2 * len(_DIGITS)


def sample(words: Words, price: Integers) -> Integers:
    """One draw for each 92 words, which are the last axis; `price` has the shape of the draws,
    or one that goes with it."""
    digits = words.reshape(*words.shape[:-1], 2, len(_DIGITS)) < _OF_WORDS
    as_bytes = np.zeros((*digits.shape[:-1], 8), dtype=np.uint8)
    as_bytes[..., :6] = np.packbits(digits, axis=-1, bitorder="little")
    geometric = as_bytes.view("<u8")[..., 0].astype(np.int64)
    return np.asarray(geometric[..., 0] // price - geometric[..., 1] // price)
