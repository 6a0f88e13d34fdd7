"""Every transcript of reports of small domains, and how far windows of truths are told apart."""

from itertools import product

import numpy as np

from fugu.operators.auditing.enumeration import sequences
from fugu.operators.mechanism import Floats
from fugu.operators.wevent_local.window_reports import WindowReports


def largest_window_ratio(mechanism: WindowReports, steps: int, window: int) -> float:
    """Return the worst log-ratio between truths that differ within `window` positions in a row.

    In ticks, absence is one more truth.
    """
    *_, paths = sequences(mechanism, steps)
    truths = np.array(list(product(range(mechanism.inputs), repeat=steps)))
    worst = 0.0
    for first in range(steps - min(window, steps) + 1):
        kept = np.delete(truths, np.s_[first : first + window], axis=1)
        groups = np.unique(kept, axis=0, return_inverse=True)[1].ravel()
        for group in range(groups.max() + 1):
            worst = max(worst, _spread(paths.log_likelihood[groups == group]))
    return worst


def _spread(likelihood: Floats) -> float:
    """Return the largest log-ratio between two truths; impossible for one, impossible for all."""
    possible = ~np.isneginf(likelihood)
    assert (possible.all(axis=0) | ~possible.any(axis=0)).all()
    there = likelihood[:, possible.all(axis=0)]
    return float((there.max(axis=0) - there.min(axis=0)).max(initial=0.0))
