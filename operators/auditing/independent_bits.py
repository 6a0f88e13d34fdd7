"""The law of releases that are bits, found by driving the real step with chosen words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import Array, Floats, Inputs, Mechanism, Words

_LAST_WORD = 2**64 - 1
_TRIED = 256


@dataclass(frozen=True)
class _ChosenWords:
    """Give one chosen word for each bit, `(rows, bits)`, instead of draws."""

    chosen: Words

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """Return the chosen words; `ValueError` if another number is asked for."""
        if (len(binding), coordinates, count) != (len(self.chosen), 1, self.chosen.shape[1]):
            raise ValueError("a step that does not draw one word for each bit cannot be driven")
        return self.chosen[:, None, :]


@dataclass(frozen=True, eq=False)
class BitLaw:
    """Hold how many of 2^64 words set each bit, `(inputs, bits)`, and whether no others matter."""

    words: NDArray[np.object_]
    independent: bool

    @property
    def losses(self) -> Floats:
        """Return the largest logarithm of P(release | one input) / P(release | other)."""
        with np.errstate(divide="ignore"):
            laws = [np.log(some.astype(np.float64)) for some in (self.words, 2**64 - self.words)]
        with np.errstate(invalid="ignore"):
            gaps = [law[:, None] - law[None] for law in laws]
        possible = [np.where(np.isnan(gap), -np.inf, gap) for gap in gaps]
        return np.asarray(np.maximum(*possible).sum(axis=2))


def bit_law(mechanism: Mechanism, inputs: int, bits: int) -> BitLaw:
    """Find the threshold of each bit for each input, in the state of a fresh stream.

    A bit is halved down to two neighbouring words while all other words are the last one. Then many
    words at random, and those around all thresholds, must set exactly the bits that are below.

    >>> from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
    >>> law = bit_law(OptimizedUnaryEncoding(symbols=3, epsilon=1.0), 3, 3)
    >>> law.independent, law.losses.round(6).tolist()
    (True, [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    """
    given, bit = np.indices((inputs, bits)).reshape(2, -1)
    rows = np.arange(len(given))

    def is_set(word: Words) -> NDArray[np.bool_]:
        words = np.full((len(given), bits), _LAST_WORD, dtype=np.uint64)
        words[rows, bit] = word
        return _released(mechanism, given, words)[rows, bit]

    low, high = np.zeros(len(given), np.uint64), np.full(len(given), _LAST_WORD, np.uint64)
    never, always = ~is_set(low), is_set(high)
    while (high - low > 1).any():
        middle = low + (high - low) // np.uint64(2)
        below = is_set(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    words = np.where(never, 0, np.where(always, 2**64, high.astype(object)))
    found = words.reshape(inputs, bits)
    return BitLaw(found, _agrees(mechanism, found))


def _agrees(mechanism: Mechanism, thresholds: NDArray[np.object_]) -> bool:
    inputs, bits = thresholds.shape
    rng = np.random.default_rng(0)
    given = np.repeat(np.arange(inputs), _TRIED)
    words = rng.integers(0, _LAST_WORD, (len(given), bits), dtype=np.uint64, endpoint=True)
    last = np.minimum(thresholds, _LAST_WORD).astype(np.uint64)[given]
    beside = rng.integers(0, 4, words.shape)
    words = np.where(beside == 0, last, np.where((beside == 1) & (last > 0), last - 1, words))
    expected = words < last
    expected |= (thresholds > _LAST_WORD)[given]
    return bool((_released(mechanism, given, words) == expected).all())


def _released(mechanism: Mechanism, given: Array, words: Words) -> NDArray[np.bool_]:
    start = mechanism.start(len(given))
    _, releases = mechanism.step(start, Inputs(given), _ChosenWords(words))
    return releases.values.astype(bool)
