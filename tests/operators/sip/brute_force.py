"""Bayes' rule over whole sequences, with nothing clever: sums over every sequence of symbols."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise, product

import numpy as np

from operators.mechanism import Floats

Path = tuple[int, ...]


@dataclass(frozen=True)
class Enumeration:
    """A Markov chain observed through a release law a[x, y] that is a function of the belief."""

    prior: Floats
    transition: Floats
    law_of: Callable[[Floats], Floats]
    _laws: dict[Path, Floats] = field(default_factory=dict)

    def paths(self, steps: int) -> list[Path]:
        """Every sequence of `steps` symbols."""
        return list(product(range(len(self.prior)), repeat=steps))

    def releasable(self, steps: int) -> list[Path]:
        """Every sequence of `steps` releases that some truth can lead to."""
        if steps == 0:
            return [()]
        return [
            (*released, y)
            for released in self.releasable(steps - 1)
            for y in range(len(self.prior))
            if self.law(released)[:, y].max() > 0.0
        ]

    def truth_probability(self, truth: Path) -> float:
        """P(x_1, ..., x_k)."""
        if not truth:
            return 1.0
        chained = [self.transition[u, v] for u, v in pairwise(truth)]
        return float(self.prior[truth[0]] * np.prod(chained))

    def release_probability(self, truth: Path, released: Path) -> float:
        """P(y_1, ..., y_k given x_1, ..., x_k)."""
        steps = [self.law(released[:k])[truth[k], released[k]] for k in range(len(released))]
        return float(np.prod(steps))

    def belief(self, released: Path) -> Floats:
        """P(next symbol given the releases so far)."""
        if not released:
            return self.prior
        total = np.zeros(len(self.prior))
        for truth in self.paths(len(released)):
            joint = self.truth_probability(truth) * self.release_probability(truth, released)
            total += joint * self.transition[truth[-1]]
        return np.asarray(total / total.sum())

    def law(self, released: Path) -> Floats:
        """a[x, y] after these releases."""
        if released not in self._laws:
            self._laws[released] = self.law_of(self.belief(released))
        return self._laws[released]

    def log_ratios(self, released: Path) -> dict[Path, float]:
        """ln P(x given y)/P(x) for every sequence x."""
        likelihood = {
            truth: self.release_probability(truth, released) for truth in self.paths(len(released))
        }
        total = sum(self.truth_probability(truth) * p for truth, p in likelihood.items())
        with np.errstate(divide="ignore"):
            return {truth: float(np.log(p / total)) for truth, p in likelihood.items()}
