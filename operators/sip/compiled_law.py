"""Release laws for 0/1 distance where steps are compiled: the same bits as `IntegerLaw`."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip import compiled_hamming_laws as hamming_laws
from fugu.operators.sip.compiled_hamming_law import Room
from fugu.operators.sip.compiled_hamming_laws import Laws
from fugu.operators.sip.compiled_integer_law import Limits
from fugu.operators.sip.privacy_bound import PrivacyBound


@dataclass(frozen=True, eq=False)
class CompiledLaw:
    """What a step needs of the laws at beliefs `(n, rows)`."""

    belief: Floats
    bound: PrivacyBound
    doubt: Floats
    full_support: bool = False

    def draw(self, symbols: Integers, words: Words) -> Integers:
        """Release what the word of each column says."""
        drawn = np.empty(len(symbols), dtype=np.int64)
        hamming_laws.draw(self._made, symbols, words, drawn)
        return drawn

    def posterior(self, released: Integers) -> Floats:
        """P(x | y and everything released before)."""
        told = np.empty(self._beliefs.shape)
        hamming_laws.correct(self._beliefs, self._made, released, told)
        return np.ascontiguousarray(told.T)

    @property
    def charge(self) -> Integers:
        """Units that cover the leakage of the release."""
        return self._made.charges

    @cached_property
    def _beliefs(self) -> Floats:
        return np.ascontiguousarray(self.belief.T)

    @cached_property
    def _made(self) -> Laws:
        rows, symbols = self._beliefs.shape
        laws, limits = Laws.of(rows, symbols), Limits.of(self.bound, symbols, self.full_support)
        hamming_laws.make(self._beliefs, limits, self.doubt, laws, Room.of(symbols))
        return laws


def predicted(posterior: Floats, transitions: Floats) -> Floats:
    """P(next symbol), `(rows, n)`, from posteriors `(n, rows)` and chains `(rows, n, n)`."""
    beliefs = np.empty(posterior.T.shape)
    hamming_laws.predict(np.ascontiguousarray(posterior.T), transitions, beliefs)
    return beliefs
