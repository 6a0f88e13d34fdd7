"""Algorithms 1 and 2 of Zhang et al. as they are printed, but for the variance of true values.

Statistics are those of what was released, the noise is the same at every tick, so that the first
two values, released as they are, cost more than the others, and attenuation is counted twice. The
variance of true values is that of released ones less that of the noise (correction 1 of section 3
of the specification); read as printed, there is another one for every reader.
"""

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.realtime.filter import Moments

WEIGHTS = np.array([0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
COARSE = WEIGHTS >= 0.3
"""The weights that printed figures for the algorithm as printed seem to be the best of."""


def released(truth: Floats, weights: Floats, total: float, rng: np.random.Generator) -> Floats:
    """Mean squared errors for `truth (ticks, runs)` with each weight, `(runs, weights)`."""
    ticks, runs = truth.shape
    noise = (2.0 + (ticks - 2) * weights**2) / total
    moments, last = Moments.none(runs, len(weights)), np.zeros((runs, len(weights)))
    squared = np.zeros((runs, len(weights)))
    for tick, now in enumerate(truth):
        drawn = rng.normal(0.0, 1.0, last.shape) * np.sqrt(noise)
        if tick < 2:
            last = now[:, None] + drawn
        else:
            correlation = np.clip(moments.correlation + 1.0 / tick, -1.0, 1.0)
            true = np.maximum(moments.variance - noise, 0.0)
            pull = correlation * true / (true + noise)
            predicted = moments.mean * (1.0 - pull) + pull * last
            last = (1.0 - weights) * predicted + weights * now[:, None] + drawn
        moments = moments.pushed(last)
        squared += (last - now[:, None]) ** 2
    return np.asarray(squared / ticks)
