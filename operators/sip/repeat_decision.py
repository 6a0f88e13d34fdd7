"""The decision to publish anew or to repeat."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fugu.operators.budget_units import charge_of_ratio
from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.responses.randomized_response import Odds
from fugu.operators.sip.distances import Points
from fugu.operators.sip.integer_law import RATIO_UP
from fugu.operators.sip.markov_model import normalised, ordered_sum
from fugu.operators.sip.private_law import SymbolLaw
from fugu.operators.sip.proposal import Mask

Distance = Literal["symbol", "steps"]
"""Name a distance that needs no points."""


@dataclass(frozen=True, eq=False)
class RepeatDecision:
    """Decide to publish anew or to repeat, itself a release: one bit by randomized response.

    One question per column of `belief`: is the truth one of the symbols that are `near`?

    The bit asks whether the last release is still good enough: is its distance from the truth at
    most the error to be expected of a fresh one? It is answered truthfully with odds of e^epsilon
    to 1, whatever the truth, so it is epsilon-private for every belief; relative to the belief it
    often leaks less, and nothing where the last release is good enough for every symbol.

    Distances are 0 or 1 (`symbol`), of which an expected error is never 1, so that only the last
    symbol itself is good enough for it; or how far apart two symbols are in the alphabet (`steps`),
    or between declared points.

    Everything is `(n, rows)`: symbol first, one column per stream. Source: SIP specification,
    section 9 ("Adaptive SIP").
    """

    belief: Floats
    near: Mask
    odds: Odds

    def chance(self, repeats: bool) -> Floats:
        """Return P(repeat given x), or P(publish anew given x): both as they are drawn, since 1
        less a double near 1 has few digits."""
        return self._likelihood(np.full(self.belief.shape[1], repeats))

    def repeats(self, symbols: Integers, words: Words) -> Mask:
        """Answer for the one x of each column: the first words are those of the truth."""
        truthful = words < np.uint64(self.odds.favoured)
        return np.asarray(truthful == self.near[symbols, np.arange(len(symbols))])

    def posterior(self, repeats: Mask) -> Floats:
        """Return P(x given the answer and everything released before)."""
        return normalised(self.belief * self._likelihood(repeats))

    @property
    def leakage(self) -> Floats:
        """Return the leakage of the answer in nats, relative to the belief as it stands."""
        return np.asarray(np.log(self._ratio(np.zeros(self.belief.shape[1]))))

    def charge(self, doubt: Floats) -> Integers:
        """Return units that cover the leakage of the answer relative to every belief in doubt
        (rho), and not more than its odds, which cover it relative to any belief."""
        ratio = np.where(self.near.all(axis=0), 1.0, self._ratio(doubt) * RATIO_UP)
        return np.minimum(charge_of_ratio(ratio), self.odds.charge)

    def joint(self, law: SymbolLaw, previous: Integers) -> Floats:
        """Return P(y fresh given x), and P(y repeated given x) of the `previous` one, `(rows, x, 2
        n)`; `law` is that of a fresh release."""
        n, rows = self.belief.shape
        is_last = np.arange(n)[:, None] == previous
        joint = np.zeros((rows, n, 2 * n))
        anew, repeated = self.chance(False), self.chance(True)
        for truth in range(n):
            fresh = law.probabilities(np.full(rows, truth))
            joint[:, truth, :n] = (anew[truth] * fresh).T
            joint[:, truth, n:] = np.where(is_last, repeated[truth], 0.0).T
        return joint

    def _ratio(self, doubt: Floats) -> Floats:
        """Return the largest ratio of P(answer given x) and P(answer), either way."""
        worst, known = np.ones(self.belief.shape[1]), np.isfinite(doubt)
        rho = np.where(known, doubt, 0.0)
        for answer in (True, False):
            likelihood = self.chance(answer)
            released = ordered_sum(self.belief * likelihood)
            worst = np.maximum(worst, likelihood.max(axis=0) / (released * (1.0 - rho)))
            worst = np.maximum(worst, released * (1.0 + rho) / likelihood.min(axis=0))
        return np.where(self.near.all(axis=0), 1.0, np.where(known, worst, np.inf))

    def _likelihood(self, repeats: Mask) -> Floats:
        agrees = self.near == repeats
        return np.where(agrees, self.odds.likely, self.odds.unlikely)


def good_enough(
    distance: Distance | Points, symbols: int, previous: Integers, fresh: Callable[[], SymbolLaw]
) -> Mask:
    """Return for which truths the last release is good enough; `fresh` makes the law of another."""
    if distance == "symbol":
        return near(symbols, previous, 0)
    if isinstance(distance, Points):
        return near_points(distance, previous, expected_distance(fresh(), distance))
    return near(symbols, previous, expected_steps(fresh()))


def near_points(points: Points, previous: Integers, within: Floats) -> Mask:
    """Return which symbols are at most so far from the last release, between points."""
    return np.asarray(points.from_each(previous, len(points.coordinates)) <= within)


def expected_distance(law: SymbolLaw, points: Points) -> Floats:
    """Return how far a fresh release is from the truth on average, per column."""
    expected = np.zeros(law.belief.shape[1])
    for symbol in range(len(law.belief)):
        probabilities = law.probabilities(np.full(len(expected), symbol))
        apart = points.to(points.coordinates[symbol])[:, None]
        expected = expected + law.belief[symbol] * ordered_sum(probabilities * apart)
    return expected


def near(symbols: int, previous: Integers, within: Floats | int) -> Mask:
    """Return which symbols are at most so many steps from the last release."""
    apart = np.abs(np.arange(symbols)[:, None] - previous)
    return np.asarray(apart <= within)


def expected_steps(law: SymbolLaw) -> Floats:
    """Return E|x - y| of a fresh release, per column: n rows of the law, one after the other."""
    symbols = np.arange(len(law.belief))
    expected = np.zeros(law.belief.shape[1])
    for symbol in symbols:
        probabilities = law.probabilities(np.full(len(expected), symbol))
        apart = np.abs(symbols - symbol)[:, None]
        expected = expected + law.belief[symbol] * ordered_sum(probabilities * apart)
    return expected
