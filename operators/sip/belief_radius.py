"""The distance of beliefs in doubles from the exact ones."""

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from fugu.operators.mechanism import Floats, Integers, State
from fugu.operators.sip.privacy_bound import LARGEST_DISTANCE, UNIT_ROUNDOFF, doubt

BIT_LENGTHS = 65
PREDICTIONS = "predictions"
"""The column that counts them, where they are counted."""
_SLACK = 1.0 + 2.0**-20
_CONSTANT_BELOW = 2.0**-20
"""A distance that is never larger need not be counted: the law hardly pays for it."""


@dataclass(frozen=True)
class Radius:
    """Bound how far a belief computed in doubles may be from the exact one.

    `step` is what one step adds, and `most` what is never exceeded.

    Distances are Hilbert's, ln max(b/b*) - ln min(b/b*), which is relative in every entry:
    correcting both beliefs by one release leaves it alone, predicting contracts it, and a step adds
    at most `step` for its roundings. After k predictions it is at most step * min(2^bitlen(k),
    memory), however the path went. A law pays for it with a little accuracy
    (`privacy_bound.doubt`), and nothing is charged.

    >>> radius = Radius.of(roundings=2, excess=0.0, memory=1e12)
    >>> radius.counted, (radius.distances([0, 1, 1000]) / radius.step).tolist()
    (True, [1.0, 2.0, 1024.0])

    Source: symbol sampling specification, section 6.
    """

    step: float
    most: float

    @classmethod
    def of(cls, roundings: int, excess: float, memory: float) -> "Radius":
        """Return that of a chain; see `Chain` for `roundings`, `excess` and `memory`."""
        step = 2.0 * (roundings + 8) * UNIT_ROUNDOFF * _SLACK + 2.0 * excess * _SLACK
        return cls(step, step * memory)

    @property
    def counted(self) -> bool:
        """Return whether states count predictions, since the bound depends on them."""
        return self.most > _CONSTANT_BELOW

    def distances(self, predictions: ArrayLike) -> Floats:
        """Return the bound after so many predictions."""
        return self._by_bit_length[bit_lengths(np.asarray(predictions, dtype=np.int64))]

    def doubts(self, symbols: int) -> Floats:
        """Return what laws over so many symbols pay, by the bit length of the number of
        predictions.

        Infinity: the belief may be anywhere, and only a constant can be released.
        """
        paid = [
            inf if distance > LARGEST_DISTANCE else doubt(distance, symbols)
            for distance in self._by_bit_length.tolist()
        ]
        return np.array(paid)

    def start(self, rows: int) -> State:
        """Start to count predictions, if they are counted."""
        return {PREDICTIONS: np.zeros(rows, dtype=np.int64)} if self.counted else {}

    def after(self, state: State, steps: Integers | int = 1) -> State:
        """Count so many more predictions, of releases, gaps and skips alike."""
        return {PREDICTIONS: state[PREDICTIONS] + steps} if self.counted else {}

    def doubt(self, state: State, doubts: Floats) -> Floats:
        """Return what the law of each row pays: one of `doubts`."""
        if not self.counted:
            return np.full(len(state["belief"]), doubts[0])
        return doubts[bit_lengths(state[PREDICTIONS])]

    @property
    def _by_bit_length(self) -> Floats:
        if not self.counted:
            return np.full(BIT_LENGTHS, self.most)
        return np.minimum(self.step * np.ldexp(1.0, np.arange(BIT_LENGTHS)), self.most)


def bit_lengths(numbers: Integers) -> Integers:
    """Return how many binary digits each number has, or one more where doubles cannot tell.

    >>> bit_lengths(np.array([0, 1, 2, 3, 4])).tolist()
    [0, 1, 2, 2, 3]
    """
    return np.asarray(np.frexp(numbers.astype(np.float64))[1].astype(np.int64))
