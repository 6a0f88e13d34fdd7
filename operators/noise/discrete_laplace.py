"""Discrete Laplace noise on a fine grid."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.mechanism import Integers, Words

PRECISION = 24
"""M: the scale of the noise is 2^M grid steps."""
WORDS_PER_DRAW = 32
LARGEST = 2**30
"""No draw is farther from zero."""
TOTAL_VARIATION = 3.72e-19
"""At most 2^-61.2 between a draw from uniform words and P: thresholds, test for zero, tail."""

_ZERO, _SIGN, _DIGITS = 0, 1, 2
"""Which words say whether it is zero, which sign it has, and (from here on) its digits."""


@dataclass(frozen=True)
class Thresholds:
    """Draw discrete Laplace noise from 32 words, by comparisons with integers only.

    Thresholds are round(2^64 p): for the p of zero, and of at most 30 digits of G.

        P(k) = tanh(2^-M / 2) e^(-|k| / 2^M),   M = 24

    A draw is 0 with probability tanh(2^-M / 2); otherwise it is a fair sign times 1 + G, where G is
    geometric with ratio e^(-2^-M). The binary digits of G are independent, and digit j is 1 with
    probability 1 / (1 + e^(2^(j - M))). Each probability is a threshold for one 64-bit word; every
    word is read whatever the others say. The noise ends at 2^30 steps, 64 times its scale.

    >>> words = np.full((1, WORDS_PER_DRAW), 2**64 - 1, dtype=np.uint64)
    >>> words[0, 2 + 5] = 0
    >>> SAMPLER.sample(words).tolist()
    [-33]

    Source: noise specification, section 3.
    """

    zero: int
    digits: tuple[int, ...]

    def sample(self, words: Words) -> Integers:
        """Draw once for each 32 words, which are the last axis."""
        ones = words < self._of_words
        as_bytes = np.packbits(ones, axis=-1, bitorder="little")
        geometric = as_bytes.view("<u4")[..., 0].astype(np.int64) >> _DIGITS
        magnitude = np.where(words[..., _ZERO] < np.uint64(self.zero), 0, geometric + 1)
        return np.where(words[..., _SIGN] >> np.uint64(63), -magnitude, magnitude)

    @cached_property
    def _of_words(self) -> Words:
        """Return a threshold for each word; 0, which no word is below, where there is no digit."""
        thresholds = np.zeros(WORDS_PER_DRAW, dtype=np.uint64)
        thresholds[_DIGITS : _DIGITS + len(self.digits)] = self.digits
        return thresholds


_DIGITS_OF_G = """
9223371761976868864 9223371487098961920 9223370937343148032 9223369837831520256 9223367638808264704
9223363240761753603 9223354444668731413 9223336852482687147 9223301668110599509 9223231299366431403
9223090561878152533 9222809086902053547 9222246136953525589 9221120237085829802 9218868437585319219
9214364840463345254 9205357661251751117 9187343423086631329 9151315908796561063 9079268575757738103
8935235449059394619 8647660713528248895 8076418037615682946 6964396094736529935 4961093570831980854
2198905795380358826 331787012026708147 6186118031800230 2075907333724 233613
"""
SAMPLER = Thresholds(zero=549755813888, digits=tuple(map(int, _DIGITS_OF_G.split())))
"""M = 24; `tests/operators/noise/derivation.py` derives them."""
