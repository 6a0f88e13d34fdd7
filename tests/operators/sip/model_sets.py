"""Members of a set of models, in exact numbers: corners of it, and chains that drift within it."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.model_sets import ModelIntervals

Row = tuple[Fraction, ...]


def corners(low: Floats, high: Floats) -> list[Row]:
    """Every corner of the distributions between `low` and `high`: all but one are at an end."""
    ends = [(Fraction(a), Fraction(b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    found = set[Row]()
    for free, (least, most) in enumerate(ends):
        for others in product(*ends[:free], *ends[free + 1 :]):
            left = 1 - sum(others, Fraction(0))
            if least <= left <= most:
                found.add((*others[:free], left, *others[free:]))
    return sorted(found)


def inside(rng: np.random.Generator, rows: Sequence[Row]) -> Row:
    """A distribution between corners."""
    weights = [Fraction(int(w)) for w in rng.integers(1, 1000, len(rows))]
    total = sum(weights)
    return tuple(
        sum((w * row[x] for w, row in zip(weights, rows, strict=True)), Fraction(0)) / total
        for x in range(len(rows[0]))
    )


class Drifting:
    """A chain that takes new rows at every step: corners of the set, or points between them."""

    def __init__(self, intervals: ModelIntervals, seed: int, *, between: bool = False) -> None:
        self._rng = np.random.default_rng(seed)
        self._first = corners(intervals.first_low, intervals.first_high)
        self._rows = [
            corners(low, high) for low, high in zip(intervals.low, intervals.high, strict=True)
        ]
        self._between = between

    def first(self) -> Row:
        return self._chosen(self._first)

    def rows(self) -> list[Row]:
        return [self._chosen(row) for row in self._rows]

    def _chosen(self, rows: list[Row]) -> Row:
        if self._between:
            return inside(self._rng, rows)
        return rows[int(self._rng.integers(len(rows)))]


def constant_corners(intervals: ModelIntervals) -> Iterator[MarkovModel]:
    """Every chain whose first symbol and whose rows are corners, for sets of positive entries."""
    first = corners(intervals.first_low, intervals.first_high)
    rows = [corners(low, high) for low, high in zip(intervals.low, intervals.high, strict=True)]
    for prior, *transition in product(first, *rows):
        yield MarkovModel(np.array(prior, dtype=np.float64), np.array(transition, dtype=np.float64))
