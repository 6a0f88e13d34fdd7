"""Compare what is drawn with the law that it should have."""

import numpy as np
from scipy.stats import chisquare, norm

from fugu.dataflows.offline.auditing.audited import Check
from fugu.operators.mechanism import Floats
from fugu.operators.noise.gaussian_table import PRECISION

FALSE_ALARM = 1e-6
"""The chance with which a law is refused that is the right one."""
DRAWS = 20_000
_CELLS = 40
_LEAST_EXPECTED = 5
_HALF_A_STEP = 0.5 ** (PRECISION + 1)
"""Give half a step of the grid of Gaussian noise, in deviations."""


def follows(about: str, below: Floats, upto: Floats) -> Check:
    """Check that draws have a law, by chi-square.

    `below` and `upto` are the probabilities, by the law, of less than each draw and of no more than
    it. A number drawn between the two is uniform if the law is right, whether it has atoms or not.
    """
    draws, rng = len(below), np.random.default_rng(0)
    uniform = np.nan_to_num(below + rng.random(draws) * (upto - below))
    cells = max(1, min(_CELLS, draws // _LEAST_EXPECTED))
    counts = np.histogram(uniform, cells, range=(0.0, 1.0))[0]
    certainty = float(chisquare(counts).pvalue) if cells > 1 else 1.0
    return Check(
        about,
        certainty >= FALSE_ALARM and bool((upto > below).all()),
        f"{draws:,} draws, chi-square p = {certainty:.2g}, at least {FALSE_ALARM:g} is asked for",
    )


def follows_gaussian(about: str, noise: Floats) -> Check:
    """Check that draws have the law of discrete Gaussian noise; `noise` counts deviations."""
    return follows(about, norm.cdf(noise - _HALF_A_STEP), norm.cdf(noise + _HALF_A_STEP))
