"""Check beliefs that come from a stored state."""

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.sip.markov_model import SUM_TOLERANCE, ordered_sum


def checked_belief(rows: Floats) -> Floats:
    """Return the beliefs as `(states, rows)`; `ValueError` for one that is no distribution."""
    belief = np.ascontiguousarray(rows.T)
    total = ordered_sum(belief)
    sound = (np.abs(total - 1.0) <= SUM_TOLERANCE) & (belief >= 0.0).all(axis=0)
    if not sound.all():
        raise ValueError(f"the belief of row {int(np.argmin(sound))} is not a distribution")
    return belief
