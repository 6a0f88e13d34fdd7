"""Name what became of a tick under policies."""

from enum import IntEnum

import numpy as np

from fugu.operators.mechanism import Kind


class Status(IntEnum):
    """Say what became of a tick."""

    SAMPLED = 0
    """The true vector with noise, charged to all open intervals."""
    REPEATED = 1
    """The last release again."""
    EXACT = 2
    """Nothing is relevant, or nothing can change: the true vector, which costs nothing."""
    NOISY = 3
    """The same, but with noise for a whole contribution."""
    NOTHING = 4
    """There is no last release: zeros, and the kind is `SUPPRESSED`."""


KINDS = np.array(
    [Kind.FRESH, Kind.REPEATED, Kind.FRESH, Kind.FRESH, Kind.SUPPRESSED], dtype=np.int64
)
"""The kind of a release, by its status."""
