"""Intervals around learned models that hold with a stated confidence.

What was counted is an accident of the history: another history of the same chain would give another
model. Here each probability gets an interval so wide that, with the stated confidence, all of them
contain the chain that the history came from, if it came from one.

*Counts of truths.* What follows a symbol at its i-th time is one independent draw from its row,
wherever that time is in the history. After N of them, P(N kl(q, p) >= L) <= 2 e^-L for the share q
of one follower with probability p (Chernoff), where kl is the relative entropy of two bits. N
itself is an accident, so L = ln(2 K N (N + 1) / delta) pays for every N at once: 1 / (N (N + 1))
sums to 1. K is the number of intervals. From kl(q, p) >= (q - p)^2 / (2 max(p, q)) follow ends by a
square root, and the same for 1 - q and 1 - p.

*Counts of randomized responses.* Given the truths, responses are independent, and one of them
changes an unbiased count of pairs by at most a known amount, so that is near the count of the
truths (McDiarmid's inequality). Shares of truths then lie in intervals, and so do probabilities.
Half of delta pays for either. Ends go into model files, so they need not have the same last bits on
every machine.

>>> low, high = learned_intervals(np.array([3, 1]), np.array([[900, 100], [20, 80]]), 0.95).rows
>>> low.round(3).tolist(), high.round(3).tolist()
([[0.816, 0.038], [0.0, 0.369]], [[0.962, 0.184], [0.631, 1.0]])

Source: Boucheron, Lugosi, Massart 2013, sections 2.2 and 6.1; SIP specification, section 6.
"""

from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np

from fugu.operators.budget_units import exact_exp
from fugu.operators.mechanism import Floats, Integers

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

    Raises `ValueError` unless 0 < confidence < 1.
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
    scale, spread = _undone(len(first), epsilon)
    left = scale * pairs - spread * pairs.sum(axis=0)
    truths = scale * left - spread * left.sum(axis=1)[:, None]
    return scale * first - spread * first.sum(), truths


def largest_changes(symbols: int, epsilon: float) -> tuple[float, float]:
    """Return by how much one response changes an unbiased count of pairs, and a sum of a row.

    A response is in two pairs. As a first symbol it changes its count as it does the sum of a row.
    """
    scale, spread = _undone(symbols, epsilon)
    return 2.0 * scale * max(scale - spread, spread), scale


def _undone(symbols: int, epsilon: float) -> tuple[float, float]:
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
