"""Give chosen Gaussian noise in the place of draws, to drive a release where one wants it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fugu.operators.mechanism import Integers, Words
from fugu.operators.noise.discrete_gaussian import table


@dataclass(frozen=True)
class ChosenPoints:
    """Hold noise `(rows, coordinates)` in grid steps, for the one draw of a step.

    `drawn` is filled with how many rows each draw was made for.
    """

    steps: Integers
    drawn: list[int] = field(default_factory=list)

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """Return words of which the first decides how far, the second one on which side."""
        assert (purpose, coordinates, count) == ("release", self.steps.shape[1], 2)
        self.drawn.append(sum(bound != b"" for bound in binding))
        far = np.abs(self.steps)
        sizes = np.where(far > 0, table()[far - 1], np.uint64(0))
        sides = np.where(self.steps < 0, np.uint64(2**63), np.uint64(0))
        return np.stack([sizes, sides], axis=-1)
