"""Every way a stream can go, with its probability: the real `step`, with a word for each choice.

Payloads are the number of their tick as text, b"1", b"2", ...; those from before the first tick
have the numbers from 101 on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fugu.operators.mechanism import Array, Floats, Inputs, Integers, State, Words
from fugu.operators.temporal.random_delays import RandomLag
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import ThresholdDispatch
from tests.operators.chosen_draws import ChosenWords

FIRST_OLD = 101


@dataclass(frozen=True, eq=False)
class Paths:
    """Row by row a path: where it stands, how likely it is, and what it has let out, 0 if nothing.

    `released (paths, ticks)`.
    """

    mechanism: TemporalPerturbation
    state: State
    weight: Floats
    released: Integers

    def after(self, values: Sequence[bytes | None]) -> "Paths":
        """One tick more for each of the values, which all paths get."""
        paths = self
        for value in values:
            path, words, chance = _choices(paths.mechanism, paths.state)
            state = {name: column[path] for name, column in paths.state.items()}
            column = np.full(len(path), value, dtype=object)
            state, releases = paths.mechanism.step(state, Inputs(column), ChosenWords(words))
            paths = paths._extended(state, paths.weight[path] * chance, path, releases.values)
        return paths

    def cooled_down(self) -> "Paths":
        """Let out all that is pending."""
        paths = self
        for _ in range(self.mechanism.cool_down_ticks):
            state, releases = paths.mechanism.cool_down(paths.state)
            path = np.arange(len(paths.weight))
            paths = paths._extended(state, paths.weight, path, releases.values)
        return paths

    def _extended(self, state: State, weight: Floats, path: Integers, values: Array) -> "Paths":
        label = np.array([0 if value is None else int(value) for value in values.tolist()])
        released = np.concatenate([self.released[path], label[:, None]], axis=1)
        return Paths(self.mechanism, state, weight, released)


def steady(mechanism: TemporalPerturbation) -> Paths:
    """All states of the steady state, with values from before in their slots."""
    if not isinstance(mechanism, ThresholdDispatch):
        old = np.array([[b"%d" % (FIRST_OLD + slot) for slot in range(mechanism.k)]], dtype=object)
        state = {**mechanism.start(1), "slots": old, "tick": np.array([mechanism.k])}
        return Paths(mechanism, state, np.ones(1), np.zeros((1, 0), dtype=np.int64))
    occupied, weight = stationary(mechanism.k, mechanism.c0)
    state = {
        **mechanism.start(len(weight)),
        "occupied": occupied,
        "tick": np.full(len(weight), mechanism.k),
    }
    path, slot = np.nonzero(occupied)
    labels = np.array([b"%d" % (FIRST_OLD + slot) for slot in range(mechanism.k)], dtype=object)
    state["slots"][path, slot] = labels[slot]
    return Paths(mechanism, state, weight, np.zeros((len(weight), 0), dtype=np.int64))


def stationary(k: int, c0: int) -> tuple[Array, Floats]:
    """All occupancies before a tick, and their law: Warrington's weights, from first principles.

    A reserved slot weighs 1 + the free slots to its right, that of the tick to come k-1 ticks
    later not counted.
    """
    occupancies, weights = [], []
    for ones in combinations(range(k - 1), k - c0):
        occupied = np.isin(np.arange(k), ones)
        free_to_the_right = [int((~occupied[one + 1 : k - 1]).sum()) for one in ones]
        occupancies.append(occupied)
        weights.append(np.prod([1.0 + free for free in free_to_the_right]))
    return np.array(occupancies), np.array(weights) / np.sum(weights)


def merged(paths: Paths) -> Paths:
    """Paths that reserve the same slots, as one; what they hold and let out is forgotten."""
    occupied, inverse = np.unique(paths.state["occupied"], axis=0, return_inverse=True)
    weight = np.zeros(len(occupied))
    np.add.at(weight, inverse.ravel(), paths.weight)
    state = {
        **paths.mechanism.start(len(weight)),
        "occupied": occupied,
        "tick": np.full(len(weight), paths.state["tick"][0]),
    }
    return Paths(paths.mechanism, state, weight, np.zeros((len(weight), 0), dtype=np.int64))


def _choices(mechanism: TemporalPerturbation, state: State) -> tuple[Integers, Words, Floats]:
    """For every path all that can be drawn: the path, a word that draws it, and its probability."""
    rows, words, chances = [], [], []
    for row in range(len(state["tick"])):
        for word, chance in _of_row(mechanism, state, row):
            rows.append(row)
            words.append(word)
            chances.append(chance)
    return np.array(rows), np.array(words, dtype=np.uint64), np.array(chances)


def _of_row(mechanism: TemporalPerturbation, state: State, row: int) -> list[tuple[int, float]]:
    if isinstance(mechanism, RandomLag):
        odds = mechanism.odds
        each = [odds.favoured + lag * odds.each for lag in range(mechanism.k - 1)]
        return [(0, mechanism.none), *((word, mechanism.each) for word in each)]
    assert isinstance(mechanism, ThresholdDispatch)
    occupied = state["occupied"][row]
    free = int((~occupied).sum())
    if not occupied[state["tick"][row] % mechanism.k] and free == mechanism.c0:
        kept = [(0, mechanism.accepted), (2**64 - 1, 1.0 - mechanism.accepted)]
        return [one for one in kept if one[1] > 0.0]
    return [(-(-number * 2**64 // free), 1.0 / free) for number in range(free)]
