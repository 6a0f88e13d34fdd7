"""Compare what is drawn with the law that it should have."""

import numpy as np
from scipy.stats import chisquare

from fugu.dataflows.offline.auditing.audited import Check
from fugu.operators.mechanism import Floats, Integers

FALSE_ALARM = 1e-6
"""The chance with which a law is refused that is the right one."""
_LEAST_EXPECTED = 5.0


def agrees(about: str, counts: Integers, law: Floats) -> Check:
    """Check that counts have this law, by chi-square; cells that are too rare count as one."""
    expected = counts.sum() * law / law.sum()
    impossible = bool((counts[expected == 0.0] > 0).any())
    rare = expected < _LEAST_EXPECTED
    cells = np.append(counts[~rare], counts[rare].sum())
    means = np.append(expected[~rare], expected[rare].sum())
    there = means > 0.0
    certainty = float(chisquare(cells[there], means[there]).pvalue) if there.sum() > 1 else 1.0
    return Check(
        f"{about} (chi-square, p at least {FALSE_ALARM:g})",
        certainty >= FALSE_ALARM and not impossible,
        f"{counts.sum():,} draws, p = {certainty:.2g}",
    )
