"""The output law of a w-event strategy over a few ticks of one bin, from the steps it takes.

What is published is followed for all values from `lowest` to `highest`. What is published beyond
those values (the tail) is left out, so the likelihoods of a truth add up to a little less than 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.wevent.strategy import Strategy
from tests.privacy.step_laws import states_after, step_law


@dataclass(frozen=True)
class Paths:
    """`likelihood[truth, path]`; a truth is a value for each tick."""

    truths: Integers
    likelihood: Floats

    @property
    def tail(self) -> float:
        """The largest probability that is left out."""
        return float(1.0 - self.likelihood.sum(axis=1).min())

    def largest_ratio(self, window: int, most: int) -> float:
        """ln of the largest likelihood ratio between truths that differ within `window`
        consecutive ticks only, and by at most `most` at each of them."""
        largest = 0.0
        for one, other in product(range(len(self.truths)), repeat=2):
            apart = np.abs(self.truths[one] - self.truths[other])
            changed = np.flatnonzero(apart)
            if len(changed) and np.ptp(changed) < window and apart.max() <= most:
                ratio = self.likelihood[one] / self.likelihood[other]
                largest = max(largest, float(np.log(ratio).max()))
        return largest


def follow(
    strategy: Strategy, values: Sequence[int], ticks: int, lowest: int, highest: int
) -> Paths:
    """All truths made of `values`, and all paths of releases that stay within the range."""
    given = np.array(values)
    releases = np.arange(lowest, highest + 1)
    state, likelihood = strategy.start(1), np.ones((1, 1))
    truths = np.zeros((1, 0), dtype=np.int64)
    for tick in range(ticks):
        law = step_law(strategy, state, releases, given)
        likelihood = likelihood[:, None, :, None] * law.transpose(1, 0, 2)[None]
        likelihood = likelihood.reshape(len(truths) * len(given), -1)
        truths = np.concatenate(
            [np.repeat(truths, len(given), axis=0), np.tile(given, len(truths))[:, None]], axis=1
        )
        if tick + 1 < ticks:
            state = states_after(strategy, state, releases)
        possible = likelihood.max(axis=0) > 0.0
        likelihood = likelihood[:, possible]
        if tick + 1 < ticks:
            state = {name: column[possible] for name, column in state.items()}
    return Paths(truths, likelihood)
