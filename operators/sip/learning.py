"""Learn chains from history, with intervals that hold at a stated confidence.

>>> counts = Counts.of(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 0]), symbols=2)
>>> learned(counts, alpha=1.0).dense().transition.round(3).tolist()
[[0.5, 0.5], [0.667, 0.333]]

>>> low, high = learned_intervals(np.array([3, 1]), np.array([[900, 100], [20, 80]]), 0.95).rows
>>> low.round(3).tolist(), high.round(3).tolist()
([[0.816, 0.038], [0.0, 0.369]], [[0.962, 0.184], [0.631, 1.0]])
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np

from fugu.operators.budget_units import exact_exp
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.markov_model import MarkovModel, ordered_sum
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseMarkovModel, SparseRows

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
    """Return the smoothed chain, one row for each symbol in order, then those of pairs.

        C[u, v] = (N(u, v) + alpha) / (N(u) + alpha n)        and P1 likewise, from first symbols

    which is a sparse row: N(u, v) / (N(u) + alpha n) for what was seen, and the rest spread over
    all n symbols. Of second order, a pair has a row of its own where it was followed often enough
    that what was seen outweighs what is spread, N(u, v) >= alpha n; other pairs behave as their
    last symbol.

    Safe are public data, and history whose release is itself accounted for. A model learned from
    the streams that it is to protect leaks them: no guarantee covers that.

    Source: SIP specification, section 6.
    """
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


Ends = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class LearnedIntervals:
    """Hold low and high ends for the first symbol `(n,)` and for rows `(n, n)`, and how surely."""

    first: Ends
    rows: Ends
    confidence: float

    def without_first(self) -> "LearnedIntervals":
        """Return them where the beginning of the history, with all first symbols, is lost."""
        n = len(self.first[0])
        return replace(self, first=(np.zeros(n), np.ones(n)))


def learned_intervals(first: Integers, pairs: Integers, confidence: float) -> LearnedIntervals:
    """Return intervals from counts of first symbols `(n,)` and of pairs `(n, n)`.

    What was counted is an accident of the history: another history of the same chain would give
    another model. Here each probability gets an interval so wide that, with the stated confidence,
    all of them contain the chain that the history came from, if it came from one.

    *Counts of truths.* What follows a symbol at its i-th time is one independent draw from its row,
    wherever that time is in the history. After N of them, P(N kl(q, p) >= L) <= 2 e^-L for the
    share q of one follower with probability p (Chernoff), where kl is the relative entropy of two
    bits. N itself is an accident, so L = ln(2 K N (N + 1) / delta) pays for every N at once: 1 / (N
    (N + 1)) sums to 1. K is the number of intervals. From kl(q, p) >= (q - p)^2 / (2 max(p, q))
    follow ends by a square root, and the same for 1 - q and 1 - p.

    *Counts of randomized responses.* Given the truths, responses are independent, and one of them
    changes an unbiased count of pairs by at most a known amount, so that is near the count of the
    truths (McDiarmid's inequality). Shares of truths then lie in intervals, and so do
    probabilities. Half of delta pays for either. Ends go into model files, so they need not have
    the same last bits on every machine.

    Raises `ValueError` unless 0 < confidence < 1.

    Source: Boucheron, Lugosi, Massart 2013, sections 2.2 and 6.1; SIP specification, section 6.
    """
    delta = _checked(confidence) / _intervals(len(first))
    rows = [
        _of_shares(row / max(row.sum(), 1), row / max(row.sum(), 1), row.sum(), delta)
        for row in pairs
    ]
    total = first.sum()
    share = first / max(total, 1)
    return LearnedIntervals(_of_shares(share, share, total, delta), _stacked(rows), confidence)


def intervals_of_responses(
    first: Integers, pairs: Integers, epsilon: float, confidence: float
) -> LearnedIntervals:
    """Return intervals from counts in generalized randomized responses with `epsilon`."""
    n = len(first)
    delta = _checked(confidence) / 2.0
    responses = int(pairs.sum() + first.sum())
    of_pair, of_row = largest_changes(n, epsilon)
    logarithm = log(2.0 * (n * n + 2 * n) / delta)
    off_pair = of_pair * sqrt(responses * logarithm / 2.0)
    off_row = of_row * sqrt(responses * logarithm / 2.0)
    off_first = of_row * sqrt(float(first.sum()) * logarithm / 2.0)
    starts, truths = unbiased(first, pairs, epsilon)
    delta /= _intervals(n)
    rows = []
    for row in truths:
        fewest, most = row.sum() - off_row, row.sum() + off_row
        rows.append(_of_counts(row - off_pair, row + off_pair, fewest, most, delta))
    streams = float(first.sum())
    prior = _of_counts(starts - off_first, starts + off_first, streams, streams, delta)
    return LearnedIntervals(prior, _stacked(rows), confidence)


def unbiased(first: Integers, pairs: Integers, epsilon: float) -> tuple[Floats, Floats]:
    """Return what truths have on average, where counts of responses are these."""
    scale, spread = _undone_intervals(len(first), epsilon)
    left = scale * pairs - spread * pairs.sum(axis=0)
    truths = scale * left - spread * left.sum(axis=1)[:, None]
    return scale * first - spread * first.sum(), truths


def largest_changes(symbols: int, epsilon: float) -> tuple[float, float]:
    """Return by how much one response changes an unbiased count of pairs, and a sum of a row.

    A response is in two pairs. As a first symbol it changes its count as it does the sum of a row.
    """
    scale, spread = _undone_intervals(symbols, epsilon)
    return 2.0 * scale * max(scale - spread, spread), scale


def _undone_intervals(symbols: int, epsilon: float) -> tuple[float, float]:
    """Return a and b: a [response = x] - b is [truth = x] on average."""
    scale = (exact_exp(epsilon) + symbols - 1.0) / (exact_exp(epsilon) - 1.0)
    return scale, (scale - 1.0) / symbols


def _checked(confidence: float) -> float:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence: must be above 0 and below 1, not {confidence:g}")
    return 1.0 - confidence


def _intervals(symbols: int) -> int:
    return symbols * symbols + symbols


def _of_counts(low: Floats, high: Floats, fewest: float, most: float, delta: float) -> Ends:
    """Return ends where counts of truths lie between `low` and `high`, and their sum, too."""
    if fewest < 1.0:
        return np.zeros(len(low)), np.ones(len(low))
    least, largest = np.clip(low / most, 0.0, 1.0), np.clip(high / fewest, 0.0, 1.0)
    return _of_shares(least, largest, fewest, delta)


def _of_shares(low: Floats, high: Floats, seen: float, delta: float) -> Ends:
    """Return ends where shares of `seen` truths lie between `low` and `high`."""
    if seen < 1:
        return np.zeros(len(low)), np.ones(len(low))
    rate = log(2.0 * seen * (seen + 1.0) / delta) / seen
    least = np.maximum(_lower(low, rate), 1.0 - _upper(1.0 - low, rate))
    most = np.minimum(_upper(high, rate), 1.0 - _lower(1.0 - high, rate))
    return np.maximum(least, 0.0), np.minimum(most, 1.0)


def _lower(share: Floats, rate: float) -> Floats:
    return np.maximum(share - np.sqrt(2.0 * share * rate), 0.0)


def _upper(share: Floats, rate: float) -> Floats:
    return np.asarray(share + rate + np.sqrt(rate * rate + 2.0 * share * rate))


def _stacked(rows: list[Ends]) -> Ends:
    return np.stack([low for low, _ in rows]), np.stack([high for _, high in rows])
