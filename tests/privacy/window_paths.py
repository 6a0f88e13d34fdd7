"""The output law of a w-event strategy over a few ticks of one bin, from the steps it takes.

Every step is driven with chosen noise. Where a noisy decision turns from repeating to publishing is
found by halving, once for each state and true value, and checked to be where the price says; what
is published is followed for all values from `lowest` to `highest`. The only thing taken from theory
is the law of the noise itself, the two-sided geometric one, which other tests compare with what is
drawn. What is published beyond those values (the tail) is left out, so the likelihoods of a truth
add up to a little less than 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from operators.mechanism import Array, Floats, Inputs, Integers, Releases, State
from operators.wevent.strategy import Strategy
from tests.operators.wevent.chosen_noise import chosen

UNITS = 2**40
FARTHEST = 2**45
"""Noise that decides alone."""


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
        publishes = _publishes(strategy, state, given)
        fresh = _law(_price(strategy, state), releases, given)
        repeated, published = 1.0 - publishes, publishes[..., None] * fresh
        law = np.concatenate([repeated[..., None], published], axis=2)
        likelihood = likelihood[:, None, :, None] * law.transpose(1, 0, 2)[None]
        likelihood = likelihood.reshape(len(truths) * len(given), -1)
        truths = np.concatenate(
            [np.repeat(truths, len(given), axis=0), np.tile(given, len(truths))[:, None]], axis=1
        )
        if tick + 1 < ticks:
            state = _after(strategy, state, releases)
        possible = likelihood.max(axis=0) > 0.0
        likelihood = likelihood[:, possible]
        if tick + 1 < ticks:
            state = {name: column[possible] for name, column in state.items()}
    return Paths(truths, likelihood)


def _after(strategy: Strategy, state: State, releases: Integers) -> State:
    """After repeating, and after each of `releases`, whatever the truth: state is public."""
    rows = len(state["tick"])
    spread = _rows(state, np.repeat(np.arange(rows), 1 + len(releases)))
    price = np.repeat(_price(strategy, state), 1 + len(releases))
    decision = np.tile(np.array([-FARTHEST] + [FARTHEST] * len(releases)), rows)
    aim = np.tile(np.concatenate([releases[:1], releases]), rows)
    after, other = (
        _step(strategy, spread, np.full(len(aim), truth), decision, (aim - truth) * price)[0]
        for truth in (0, 1)
    )
    for name, column in after.items():
        assert column.tobytes() == other[name].tobytes()
    return after


def _publishes(strategy: Strategy, state: State, given: Integers) -> Floats:
    """P(published), `(states, values)`: the law of noise above the least that publishes."""
    rows = len(state["tick"])
    spread = _rows(state, np.repeat(np.arange(rows), len(given)))
    values = np.tile(given, rows)

    def published(noise: Integers) -> Array:
        return _step(strategy, spread, values, noise)[1].annotations["published"]

    never, always = np.full(len(values), -FARTHEST), np.full(len(values), FARTHEST)
    certain, possible = published(never), published(always)
    if (certain == possible).all():
        return np.asarray(certain.reshape(rows, len(given)).astype(np.float64))
    least = _least(published, never, always)
    price = strategy.rule.decision // strategy.sensitivity
    above_zero = least > 0
    assert (np.where(above_zero, least, 1 - least)[possible] % price == 0).all()
    beyond = np.exp(-np.where(above_zero, least, 1 - least) / UNITS) / (1 + np.exp(-price / UNITS))
    probability = np.where(above_zero, beyond, 1.0 - beyond)
    return np.asarray(np.where(possible, probability, 0.0).reshape(rows, len(given)))


def _law(price: Integers, releases: Integers, given: Integers) -> Floats:
    """P(release given that something is published), `(states, values, releases)`."""
    ratio = np.exp(-price / UNITS)[:, None, None]
    apart = np.abs(releases[None, None] - given[None, :, None])
    return np.asarray((1.0 - ratio) / (1.0 + ratio) * ratio**apart)


def _price(strategy: Strategy, state: State) -> Integers:
    """The least noise with which a zero is published as 1; 0 where nothing can be published."""
    rows = len(state["tick"])
    everywhere, zeros = np.full(rows, FARTHEST), np.zeros(rows, dtype=np.int64)

    def one(noise: Integers) -> Array:
        return _step(strategy, state, zeros, everywhere, noise)[1].values[:, 0] >= 1

    possible = _step(strategy, state, zeros, everywhere)[1].annotations["published"]
    return np.where(possible, _least(one, zeros, everywhere), 0)


def _least(holds: Callable[[Integers], Array], low: Integers, high: Integers) -> Integers:
    """The least noise for which `holds`, row by row; it must for `high`, and not for `low`."""
    while (high - low > 1).any():
        middle = (low + high) // 2
        there = holds(middle)
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return high


def _step(
    strategy: Strategy,
    state: State,
    values: Integers,
    decision: Integers,
    release: Integers | None = None,
) -> tuple[State, Releases]:
    noise = np.zeros(len(values), dtype=np.int64) if release is None else release
    return strategy.step(state, Inputs(values[:, None]), chosen(decision, noise[:, None]))


def _rows(state: State, chosen_rows: Integers) -> State:
    return {name: column[chosen_rows] for name, column in state.items()}
