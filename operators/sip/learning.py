"""Learn chains from history: counts of followers, smoothed as the specification says.

    C[u, v] = (N(u, v) + alpha) / (N(u) + alpha n)        and P1 likewise, from first symbols

which is a sparse row: N(u, v) / (N(u) + alpha n) for what was seen, and the rest spread over all n
symbols. Of second order, a pair has a row of its own where it was followed often enough that what
was seen outweighs what is spread, N(u, v) >= alpha n; other pairs behave as their last symbol.

Safe are public data, and history whose release is itself accounted for. A model learned from the
streams that it is to protect leaks them: no guarantee covers that.

>>> counts = Counts.of(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 0]), symbols=2)
>>> learned(counts, alpha=1.0).dense().transition.round(3).tolist()
[[0.5, 0.5], [0.667, 0.333]]

Source: SIP specification, section 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fugu.operators.budget_units import exact_exp
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.markov_model import MarkovModel, ordered_sum
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_markov_model import SparseMarkovModel
from fugu.operators.sip.sparse_rows import SparseRows

Memory = tuple[int, ...]
"""The last symbol, or the last two."""
Followers = Mapping[int, int]
"""Count each symbol that came next."""


@dataclass(frozen=True)
class Counts:
    """Count first symbols, `first (n,)`, and the `followers` of each symbol, or of each two."""

    first: Integers
    followers: Mapping[Memory, Followers]

    @classmethod
    def of(cls, streams: Integers, values: Integers, symbols: int, order: int = 1) -> "Counts":
        """Count records: record i says that `streams[i]` came to `values[i]`, in order."""
        by_stream = np.argsort(streams, kind="stable")
        stream, value = streams[by_stream], values[by_stream]
        goes_on = stream[1:] == stream[:-1]
        first = value[np.concatenate([[True], ~goes_on])[: len(value)]]
        followers: dict[Memory, dict[int, int]] = {}
        for length in range(1, order + 1):
            there = goes_on[length - 1 :]
            for earlier in range(1, length):
                there = there & goes_on[length - 1 - earlier : len(goes_on) - earlier]
            windows = [value[k : len(value) - length + k][there] for k in range(length + 1)]
            seen, times = np.unique(np.stack(windows, axis=1), axis=0, return_counts=True)
            for (*memory, symbol), count in zip(seen.tolist(), times.tolist(), strict=True):
                followers.setdefault(tuple(memory), {})[symbol] = count
        return cls(np.bincount(first, minlength=symbols), followers)

    def pairs(self) -> Integers:
        """Return how often v came right after u, `(n, n)`."""
        n = len(self.first)
        pairs = np.zeros((n, n), dtype=np.int64)
        for symbol in range(n):
            followers = self.followers.get((symbol,), {})
            pairs[symbol, list(followers)] = list(followers.values())
        return pairs


@dataclass(frozen=True)
class Learned:
    """Hold first-symbol probabilities, and for each memory what follows and what is spread."""

    prior: Floats
    rows: Mapping[Memory, tuple[Mapping[int, float], float]]

    def matrix(self) -> Floats:
        """Return the rows of symbols, dense."""
        n = len(self.prior)
        matrix = np.zeros((n, n))
        for symbol in range(n):
            followers, spread = self.rows[(symbol,)]
            matrix[symbol, list(followers)] = list(followers.values())
            matrix[symbol] += spread / n
        return matrix

    def dense(self) -> MarkovModel:
        """Return the model as a matrix; of first order only."""
        return MarkovModel.smoothed(self.prior, self.matrix(), smoothing=0.0)

    def sparse(self) -> SparseMarkovModel | SecondOrderModel:
        """Return the model as sparse rows, of second order if any pair has one."""
        prior = np.asarray(self.prior / np.sum(self.prior))
        rows = SparseRows.smoothed(self.rows.values(), len(prior), smoothing=0.0)
        pairs = [memory for memory in self.rows if len(memory) == 2]
        if pairs:
            return SecondOrderModel(prior, np.array(pairs), rows)
        return SparseMarkovModel(prior, rows)


def learned(counts: Counts, alpha: float = 1.0) -> Learned:
    """Return the smoothed chain, one row for each symbol in order, then those of pairs."""
    n = len(counts.first)
    rows: dict[Memory, tuple[Mapping[int, float], float]] = {}
    for symbol in range(n):
        rows[(symbol,)] = _row(counts.followers.get((symbol,), {}), alpha * n)
    for memory, followers in sorted(counts.followers.items()):
        if len(memory) == 2 and sum(followers.values()) >= alpha * n:
            rows[memory] = _row(followers, alpha * n)
    prior = (counts.first + alpha) / (counts.first.sum() + alpha * n)
    return Learned(prior, rows)


def learned_from_responses(
    first: Integers, pairs: Integers, epsilon: float, alpha: float = 1.0
) -> Learned:
    """Estimate the chain of the truths, from `first (n,)` and `pairs (n, n)` counted in
    releases.

    Every release is a generalized randomized response: the truth with probability p, any other
    symbol with q each. So the counts of releases are those of truths seen through G = (p - q) I + q
    11^T, on both sides of a pair, which is undone: J_x = G^-T J_y G^-1. What comes out below 0 is
    set to 0, and `alpha / n^2` is added to each pair. A function of releases, hence free.
    """
    if alpha <= 0.0:
        raise ValueError(f"alpha: must be above 0 to learn from responses, not {alpha:g}")
    n = len(first)
    truths = np.maximum(_undone(_undone(pairs.astype(np.float64), epsilon).T, epsilon).T, 0.0)
    starts = np.maximum(_undone(first.astype(np.float64), epsilon), 0.0) + alpha / n
    rows: dict[Memory, tuple[Mapping[int, float], float]] = {}
    for symbol, row in enumerate(truths):
        leaving = float(ordered_sum(row)) + alpha / n
        followers = {int(v): float(row[v]) / leaving for v in np.flatnonzero(row)}
        rows[(symbol,)] = followers, alpha / n / leaving
    return Learned(starts / ordered_sum(starts), rows)


def _row(followers: Followers, smoothing: float) -> tuple[Mapping[int, float], float]:
    total = sum(followers.values()) + smoothing
    if total == 0.0:
        return {}, 1.0
    return {symbol: count / total for symbol, count in followers.items()}, smoothing / total


def _undone(counts: Floats, epsilon: float) -> Floats:
    """Apply G^-1 along the first axis: (I - q 11^T) / (p - q), since the rows of G sum to 1."""
    growth = exact_exp(epsilon)
    scale = growth + len(counts) - 1.0
    return np.asarray((counts * scale - ordered_sum(counts)) / (growth - 1.0))
