"""Find the event that tells two streams apart best: all whose likelihood ratio is large enough.

Ratios are learned from one part of the runs and the threshold is chosen on another one. Whoever
then counts the event in runs that had no part in either gets an honest bound, however poor the
ordering is. Three orderings compete: by whole sequences of releases, which misses nothing but needs
each sequence many times; column by column, which needs few runs but sees no interplay; and by the
column whose means differ most, which is not disturbed by many others that tell nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fugu.dataflows.offline.auditing.confidence import leakage_bound
from fugu.operators.mechanism import Floats, Integers

Score = Callable[[Floats], Floats]
"""The logarithm of an estimated likelihood ratio, one per run."""

_LARGEST_LABELS = 256
_BINS = 64
_THRESHOLDS = 1_000


@dataclass(frozen=True)
class Event:
    """Test observations `(runs, columns)` for at least this score."""

    score: Score
    threshold: float

    def count(self, seen: Floats) -> int:
        """Count the runs in which the event happened."""
        return int((self.score(seen) >= self.threshold).sum())


def likeliest_event(seen: Floats, other: Floats, *, error: float, delta: float) -> Event:
    """Return an event that `seen` shows as often, and `other` as rarely, as can be found."""
    learn, choose = np.array_split(seen, 2)
    other_learn, other_choose = np.array_split(other, 2)
    codes = _Codes.of(np.concatenate([learn, other_learn]))
    found = []
    for ordering in (_by_sequence, _by_column, _by_one_column):
        score = ordering(codes, learn, other_learn)
        scores, other_scores = np.sort(score(choose)), np.sort(score(other_choose))
        thresholds = _thinned(np.unique(np.concatenate([scores, other_scores])))
        runs = min(len(scores), len(other_scores))
        hits = np.minimum(runs, len(scores) - np.searchsorted(scores, thresholds))
        other_hits = np.minimum(runs, len(other_scores) - np.searchsorted(other_scores, thresholds))
        bounds = leakage_bound(hits, other_hits, runs, error=error, delta=delta)
        best = int(np.argmax(bounds))
        found.append((float(bounds[best]), Event(score, float(thresholds[best]))))
    return max(found, key=lambda candidate: candidate[0])[1]


def _thinned(thresholds: Floats) -> Floats:
    step = -(-len(thresholds) // _THRESHOLDS)
    return thresholds[::step]


@dataclass(frozen=True)
class _Codes:
    """Write numbers as small integers: labels where there are few different ones, else bins."""

    edges: list[Floats]

    @classmethod
    def of(cls, seen: Floats) -> "_Codes":
        return cls([_edges(column) for column in seen.T])

    def __call__(self, seen: Floats) -> list[Integers]:
        """Return one array of cells per column, 0..len(edges)."""
        return [
            np.searchsorted(edges, column, side="right")
            for edges, column in zip(self.edges, seen.T, strict=True)
        ]


def _edges(column: Floats) -> Floats:
    different = np.unique(column)
    if len(different) <= _LARGEST_LABELS:
        return different
    finite = column[~np.isnan(column)]
    return np.unique(np.quantile(finite, np.arange(1, _BINS) / _BINS))


def _by_column(codes: _Codes, seen: Floats, other: Floats) -> Score:
    ratios = [
        _log_ratios(one, two, len(edges) + 1)
        for one, two, edges in zip(codes(seen), codes(other), codes.edges, strict=True)
    ]

    def score(observed: Floats) -> Floats:
        parts = [ratio[code] for ratio, code in zip(ratios, codes(observed), strict=True)]
        return np.asarray(np.sum(parts, axis=0))

    return score


def _by_one_column(codes: _Codes, seen: Floats, other: Floats) -> Score:
    """Order by the numbers of one column: upwards, if those of `seen` are larger, or downwards."""
    means, other_means = _means(seen), _means(other)
    both = np.concatenate([seen, other])
    spread = np.sqrt(_means((both - _means(both)) ** 2))
    apart = np.divide(means - other_means, spread, out=np.zeros(len(spread)), where=spread > 0.0)
    place = int(np.argmax(np.abs(apart)))
    sign = 1.0 if apart[place] >= 0.0 else -1.0

    def score(observed: Floats) -> Floats:
        column = sign * observed[:, place]
        return np.where(np.isnan(column), -np.inf, column)

    return score


def _mean(column: Floats) -> float:
    """Return the mean of what is published, 0 where nothing is."""
    there = column[~np.isnan(column)]
    return float(there.mean()) if len(there) else 0.0


def _by_sequence(codes: _Codes, seen: Floats, other: Floats) -> Score:
    known: list[Integers] = []

    def number(observed: Floats) -> Integers:
        """Number each sequence; those never seen while learning share the last number."""
        numbers = np.zeros(len(observed), dtype=np.int64)
        for place, (code, edges) in enumerate(zip(codes(observed), codes.edges, strict=True)):
            numbers = numbers * (len(edges) + 1) + code
            if place == len(known):
                known.append(np.unique(numbers))
            found = np.minimum(np.searchsorted(known[place], numbers), len(known[place]) - 1)
            unknown = known[place][found] != numbers
            numbers = np.where(unknown, len(known[place]), found)
        return numbers

    number(np.concatenate([seen, other]))
    ratios = _log_ratios(number(seen), number(other), len(known[-1]) + 1)
    return lambda observed: ratios[number(observed)]


def _means(columns: Floats) -> Floats:
    """Return the mean of what is there in each column; 0 where nothing is."""
    there = ~np.isnan(columns)
    total = np.where(there, columns, 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(there.sum(axis=0), 1))


def _log_ratios(seen: Integers, other: Integers, numbers: int) -> Floats:
    counts, other_counts = (np.bincount(part, minlength=numbers) + 0.5 for part in (seen, other))
    return np.asarray(np.log(counts / other_counts))
