"""The law of one step of a strategy with one bin, from the steps it takes.

Every step is driven with chosen noise. Where a noisy decision turns from repeating to publishing is
found by halving, once for each state and true value, and checked to be where the price says. The
only thing taken from theory is the law of the noise itself, the two-sided geometric one, which
other tests compare with what is drawn.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from fugu.operators.auditing.noise_as_drawn import chosen
from fugu.operators.mechanism import Array, Floats, Inputs, Integers, Kind, Releases, State
from fugu.operators.swellfish.strategy import PolicyStrategy
from fugu.operators.wevent import strategy as wevent

Strategy = wevent.Strategy | PolicyStrategy[Any]
UNITS = 2**40
FARTHEST = 2**45
"""Noise that decides alone."""


def step_law(strategy: Strategy, state: State, releases: Integers, given: Integers) -> Floats:
    """P(outcome given value), `(states, values, outcomes)`: the first outcome is to repeat, the
    others are to publish each of `releases`."""
    publishes = _publishes(strategy, state, given)
    fresh = _law(_price(strategy, state), releases, given)
    repeated, published = 1.0 - publishes, publishes[..., None] * fresh
    return np.concatenate([repeated[..., None], published], axis=2)


def states_after(strategy: Strategy, state: State, releases: Integers) -> State:
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
        assert column.tolist() == other[name].tolist()
    return after


def _publishes(strategy: Strategy, state: State, given: Integers) -> Floats:
    """P(published), `(states, values)`: the law of noise above the least that publishes."""
    rows = len(state["tick"])
    spread = _rows(state, np.repeat(np.arange(rows), len(given)))
    values = np.tile(given, rows)

    def published(noise: Integers) -> Array:
        return _fresh(_step(strategy, spread, values, noise)[1])

    never, always = np.full(len(values), -FARTHEST), np.full(len(values), FARTHEST)
    certain, possible = published(never), published(always)
    decided = possible & ~certain
    if not decided.any():
        return certain.astype(np.float64).reshape(rows, len(given))
    least = np.where(decided, _least(published, never, always), 0)
    price = np.where(decided, _decision_price(strategy, spread, values), 1)
    above_zero = least > 0
    assert (np.where(above_zero, least, 1 - least)[decided] % price[decided] == 0).all()
    beyond = np.exp(-np.where(above_zero, least, 1 - least) / UNITS) / (1 + np.exp(-price / UNITS))
    probability = np.where(above_zero, beyond, 1.0 - beyond)
    return np.where(decided, probability, certain).reshape(rows, len(given))


def _decision_price(strategy: Strategy, state: State, values: Integers) -> Integers:
    """Return what one unit of distance costs."""
    never = np.full(len(values), -FARTHEST)
    told = _step(strategy, state, values, never)[1].annotations
    whole = getattr(strategy, "sensitivity", None)
    sensitivity = told["sensitivity"] if whole is None else whole
    units = np.rint(told["decision_epsilon"] * UNITS).astype(np.int64)
    return np.asarray(units // np.maximum(sensitivity, 1))


def _fresh(releases: Releases) -> Array:
    return np.asarray(releases.kinds == Kind.FRESH)


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

    possible = _fresh(_step(strategy, state, zeros, everywhere)[1])
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
