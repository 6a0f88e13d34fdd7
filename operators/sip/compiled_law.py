"""Release laws for 0/1 distance where steps are compiled: the same bits as `ReleaseLaw`."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from operators.compiled import hamming_laws
from operators.compiled.hamming_law import LAW_ROWS, Room
from operators.mechanism import Floats, Integers


@dataclass(frozen=True, eq=False)
class CompiledLaw:
    """What a step needs of the laws at beliefs `(n, rows)`."""

    belief: Floats
    gain: float
    growth: float

    def sample(self, symbols: Integers, uniforms: Floats) -> Integers:
        """Draw y given x by inversion, in symbol order; `uniforms` are in [0, 1)."""
        laws, partials, _ = self._proposed
        drawn = np.empty(len(symbols), dtype=np.int64)
        room = Room.of(len(self.belief))
        hamming_laws.sample(laws, self.gain, partials, symbols, uniforms, drawn, room)
        return drawn

    def posterior(self, released: Integers) -> Floats:
        """P(x | y and everything released before)."""
        laws, partials, _ = self._proposed
        told = np.empty(self._beliefs.shape)
        hamming_laws.correct(self._beliefs, laws, self.gain, partials, released, told)
        return np.ascontiguousarray(told.T)

    @property
    def leakage_ratio(self) -> Floats:
        """e^IIL of the step."""
        return self._proposed[2]

    @cached_property
    def _beliefs(self) -> Floats:
        return np.ascontiguousarray(self.belief.T)

    @cached_property
    def _proposed(self) -> tuple[Floats, Integers, Floats]:
        rows, symbols = self._beliefs.shape
        laws = np.empty((rows, LAW_ROWS, symbols))
        partials, ratios = np.empty(rows, dtype=np.int64), np.empty(rows)
        room = Room.of(symbols)
        hamming_laws.propose(self._beliefs, self.gain, self.growth, laws, partials, ratios, room)
        return laws, partials, ratios


def predicted(posterior: Floats, transitions: Floats) -> Floats:
    """P(next symbol), `(rows, n)`, from posteriors `(n, rows)` and chains `(rows, n, n)`."""
    beliefs = np.empty(posterior.T.shape)
    hamming_laws.predict(np.ascontiguousarray(posterior.T), transitions, beliefs)
    return beliefs
