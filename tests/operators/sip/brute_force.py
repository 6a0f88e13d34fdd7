"""Bayes' rule over whole sequences, with nothing clever: sums over every sequence of symbols."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product

import numpy as np

from fugu.operators.mechanism import Floats

Path = tuple[int, ...]


TruthLaw = Callable[[Path], float]
"""P(x_1, ..., x_k)."""


def first_order(prior: Floats, transition: Floats) -> TruthLaw:
    """Every symbol depends on the one before."""

    def law(truth: Path) -> float:
        if not truth:
            return 1.0
        chained = [transition[u, v] for u, v in pairwise(truth)]
        return float(prior[truth[0]] * np.prod(chained))

    return law


def with_restarts(
    prior: Floats, rows: Mapping[Path, Floats], restart: Mapping[Path, float]
) -> TruthLaw:
    """`rows[u, v]`, or else `rows[v,]`, says what follows, but for `restart` of each, with which
    any symbol follows, and only that symbol is remembered."""

    def follows(memory: Path, rest: Path) -> float:
        if not rest:
            return 1.0
        known = memory if memory in rows else memory[-1:]
        goes_on = rows[known][rest[0]] * follows((known[-1], rest[0]), rest[1:])
        anew = follows(rest[:1], rest[1:]) / len(prior)
        return float((1.0 - restart[known]) * goes_on + restart[known] * anew)

    def law(truth: Path) -> float:
        return float(prior[truth[0]] * follows(truth[:1], truth[1:])) if truth else 1.0

    return law


@dataclass(frozen=True)
class Enumeration:
    """Truths observed through a release law a[x, y] that is a function of the belief."""

    symbols: int
    truth_law: TruthLaw
    law_of: Callable[[Floats], Floats]
    _truths: dict[Path, float] = field(default_factory=dict)
    _laws: dict[Path, Floats] = field(default_factory=dict)

    def paths(self, steps: int) -> list[Path]:
        """Every sequence of `steps` symbols."""
        return list(product(range(self.symbols), repeat=steps))

    def releasable(self, steps: int) -> list[Path]:
        """Every sequence of `steps` releases that some truth can lead to."""
        if steps == 0:
            return [()]
        return [
            (*released, y)
            for released in self.releasable(steps - 1)
            for y in range(self.symbols)
            if self.law(released)[:, y].max() > 0.0
        ]

    def truth_probability(self, truth: Path) -> float:
        """P(x_1, ..., x_k)."""
        if truth not in self._truths:
            self._truths[truth] = self.truth_law(truth)
        return self._truths[truth]

    def release_probability(self, truth: Path, released: Path) -> float:
        """P(y_1, ..., y_k given x_1, ..., x_k)."""
        steps = [self.law(released[:k])[truth[k], released[k]] for k in range(len(released))]
        return float(np.prod(steps))

    def belief(self, released: Path) -> Floats:
        """P(next symbol given the releases so far)."""
        total = np.zeros(self.symbols)
        for truth in self.paths(len(released)):
            likelihood = self.release_probability(truth, released)
            for symbol in range(self.symbols):
                total[symbol] += self.truth_probability((*truth, symbol)) * likelihood
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
