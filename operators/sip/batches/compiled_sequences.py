"""The law of likely sequences where steps are compiled: the same bits, stream after stream."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.budget_units import charge_of_ratio
from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.batches import compiled_sequence_law as sequence_law
from fugu.operators.sip.batches.compiled_sequence_law import Laws, Room
from fugu.operators.sip.batches.likely_sequences import SequenceLaw


@dataclass(frozen=True, eq=False)
class CompiledSequenceLaw(SequenceLaw):
    """As `SequenceLaw`."""

    @property
    def charge(self) -> Integers:
        """The largest leakage over all batches."""
        return self.laws.charges

    def release(self, batches: Integers, words: Words) -> Integers:
        """One of the batches."""
        drawn = np.empty(batches.shape[1], dtype=np.int64)
        sequence_law.sample(
            self.laws, self._by_row[1], self.number(batches), words[0].copy(), drawn
        )
        return self.algorithm.digits[:, drawn]

    def learned(self, released: Integers) -> Floats:
        """Sums of the posterior over all batches that have a symbol at a position."""
        told = np.empty((len(released), self.algorithm.model.symbols, released.shape[1]))
        shown, room = self.number(released), np.empty(len(self.prior))
        sequence_law.learned(*self._by_row, self.laws, shown, told, room)
        return told

    @cached_property
    def _by_row(self) -> tuple[Floats, Integers]:
        return np.ascontiguousarray(self.prior.T), np.ascontiguousarray(self.targets.T)

    @cached_property
    def laws(self) -> Laws:
        """The words of every row."""
        priors, targets = self._by_row
        rows, batches = priors.shape
        bound, laws = self.algorithm.bound, Laws.of(rows, batches)
        at_most = min(int(charge_of_ratio(np.array([bound.growth]))[0]), bound.charge)
        constants = bound.growth, bound.gain, bound.reserve_of_rows(batches, 1), at_most
        sequence_law.repair(priors, targets, *constants, self.doubts, laws, Room.of(batches))
        return laws
