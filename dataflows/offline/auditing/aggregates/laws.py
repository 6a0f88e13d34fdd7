"""Compare noise that was added to figures with the law that it should have."""

from typing import Protocol

import numpy as np

from fugu.dataflows.offline.auditing.audited import Check
from fugu.dataflows.offline.auditing.shapes import agrees
from fugu.operators.mechanism import Floats

DRAWS = 20_000
_CELLS = 40


class Law(Protocol):
    """Know a distribution, as those of `scipy.stats` do."""

    def cdf(self, numbers: Floats) -> Floats:
        """Return the chance of each number or less."""

    def ppf(self, chances: Floats) -> Floats:
        """Return the least numbers that have these chances of them or less."""


def follows(about: str, noise: Floats, law: Law) -> Check:
    """Check noise in cells that should be about equally likely."""
    ends = np.unique(law.ppf(np.arange(1, _CELLS) / _CELLS))
    counts = np.bincount(np.searchsorted(ends, noise, side="left"), minlength=len(ends) + 1)
    chances = np.diff(np.concatenate([[0.0], law.cdf(ends), [1.0]]))
    return agrees(about, counts.astype(np.int64), chances)
