"""The law of likely sequences where steps are compiled: the same bits, stream after stream."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from operators.compiled import sequence_law
from operators.mechanism import Floats, Integers
from operators.sip.batches.likely_sequences import SequenceLaw


@dataclass(frozen=True, eq=False)
class CompiledSequenceLaw(SequenceLaw):
    """As `SequenceLaw`."""

    @cached_property
    def charge(self) -> Integers:
        """The largest leakage over all batches."""
        return self._repaired[2]

    def release(self, batches: Integers, uniforms: Floats) -> Integers:
        """One of the batches."""
        drawn = np.empty(batches.shape[1], dtype=np.int64)
        _, masses, _ = self._repaired
        truths, gain = self.number(batches), self.algorithm.gain
        room = np.empty(masses.shape[1])
        sequence_law.sample(masses, self._by_row[1], gain, truths, uniforms[0].copy(), drawn, room)
        return self.algorithm.digits[:, drawn]

    def learned(self, released: Integers) -> Floats:
        """Sums of the posterior over all batches that have a symbol at a position."""
        told = np.empty((*released.shape[:1], self.algorithm.model.symbols, released.shape[1]))
        marginals, masses, _ = self._repaired
        shown, gain = self.number(released), self.algorithm.gain
        room = np.empty(masses.shape[1])
        sequence_law.learned(*self._by_row, marginals, masses, gain, shown, told, room)
        return told

    @cached_property
    def _by_row(self) -> tuple[Floats, Integers]:
        return np.ascontiguousarray(self.prior.T), np.ascontiguousarray(self.targets.T)

    @cached_property
    def _repaired(self) -> tuple[Floats, Floats, Integers]:
        """Marginals and masses `(rows, batches)`, and charges."""
        priors, targets = self._by_row
        marginals, masses = np.empty(priors.shape), np.empty(priors.shape)
        charges = np.empty(len(priors), dtype=np.int64)
        gain, growth = self.algorithm.gain, self.algorithm.growth
        room = np.empty(priors.shape[1], dtype=bool)
        sequence_law.repair(priors, targets, gain, growth, marginals, masses, charges, room)
        return marginals, masses, charges
