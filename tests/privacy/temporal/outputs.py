"""Enumerate what a reader may see of a stream; and the same if values change places."""

from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from tests.privacy.temporal.paths import Paths


@dataclass(frozen=True, eq=False)
class Outputs:
    """All outputs of one series of distinct values, `released (outputs, ticks)`."""

    released: Integers
    weight: Floats

    @classmethod
    def of(cls, paths: Paths) -> "Outputs":
        return cls.added_up(paths.released, paths.weight)

    @classmethod
    def added_up(cls, released: Integers, weight: Floats) -> "Outputs":
        """Equal outputs become one."""
        distinct, same = np.unique(released, axis=0, return_inverse=True)
        total = np.zeros(len(distinct))
        np.add.at(total, same.ravel(), weight)
        return cls(distinct, total)

    def relabelled(self, labels: Integers) -> "Outputs":
        """Those of a series with the value `labels[v]` where this one has v."""
        return Outputs.added_up(labels[self.released], self.weight)

    def swapped(self, one: int, other: int) -> "Outputs":
        """Those of the series in which two values changed places."""
        labels = np.arange(self.released.max() + 1)
        labels[[one, other]] = other, one
        return self.relabelled(labels)

    def compared_with(self, other: "Outputs") -> tuple[float, Floats]:
        """The share of outputs that are impossible there; and, of all others, ln of how much
        likelier they are here."""
        elsewhere = {
            row.tobytes(): weight
            for row, weight in zip(other.released, other.weight.tolist(), strict=True)
        }
        there = np.array([elsewhere.get(row.tobytes(), 0.0) for row in self.released])
        possible = there > 0.0
        ratios = np.log(self.weight[possible] / there[possible])
        return float(self.weight[~possible].sum()), ratios
