"""Measure how well complete transcripts of a strategy for policies tell two truths apart.

What is released is public, and so is the state that follows from it. So the largest log-likelihood
ratio over all transcripts is found from the last tick to the first: the best outcome of a tick is
the one whose own ratio and that of the best future after it are the largest together. States that
differ only in the digest of their history have the same future.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats, Integers, State
from tests.operators.swellfish.running import Strategy
from tests.privacy.step_laws import states_after, step_law


@dataclass(frozen=True)
class Level:
    """A tick: P(outcome given value) of each state, and the state of the next tick after each
    outcome."""

    law: Floats
    following: Integers


@dataclass(frozen=True)
class Transcripts:
    """Truths are indices of the values that are followed, one for each tick."""

    levels: list[Level]
    releases: Integers

    def largest_ratio(self, one: Sequence[int], other: Sequence[int]) -> float:
        """ln of the largest P(transcript given one) / P(transcript given other)."""
        future = np.zeros(self.levels[-1].following.max() + 1)
        for level, truth, instead in reversed(list(zip(self.levels, one, other, strict=True))):
            possible = level.law[:, truth] > 0.0
            assert (possible == (level.law[:, instead] > 0.0)).all()
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.log(level.law[:, truth] / level.law[:, instead])
            future = np.where(possible, ratio + future[level.following], -np.inf).max(axis=1)
        return float(future[0])

    def sequences(self, truth: Sequence[int]) -> Iterator[tuple[tuple[int, ...], float]]:
        """Yield what is published tick by tick, and how probable it is; few ticks only."""
        paths: list[tuple[tuple[int, ...], int, float]] = [((), 0, 1.0)]
        for level, value in zip(self.levels, truth, strict=True):
            paths = [
                ((*path, outcome), int(level.following[state, outcome]), probability * chance)
                for path, state, probability in paths
                for outcome, chance in enumerate(level.law[state, value].tolist())
                if chance > 0.0
            ]
        for path, _, probability in paths:
            yield self._published(path), probability

    def _published(self, outcomes: Sequence[int]) -> tuple[int, ...]:
        values = [0]
        for outcome in outcomes:
            values.append(int(self.releases[outcome - 1]) if outcome else values[-1])
        return tuple(values[1:])


def follow(
    strategy: Strategy, values: Sequence[int], ticks: int, lowest: int, highest: int
) -> Transcripts:
    """All truths made of `values`, and all releases from `lowest` to `highest`."""
    given, releases = np.array(values), np.arange(lowest, highest + 1)
    state, levels = strategy.start(1), []
    for _ in range(ticks):
        law = step_law(strategy, state, releases, given)
        after = states_after(strategy, state, releases)
        possible = np.flatnonzero(law.max(axis=1).ravel() > 0.0)
        numbers: dict[object, int] = {}
        following = np.zeros(law.shape[0] * law.shape[2], dtype=np.int64)
        kept: list[int] = []
        for row, key in zip(possible.tolist(), _keys(after, possible), strict=True):
            if key not in numbers:
                numbers[key] = len(kept)
                kept.append(row)
            following[row] = numbers[key]
        levels.append(Level(law, following.reshape(law.shape[0], law.shape[2])))
        state = {name: column[kept] for name, column in after.items()}
    return Transcripts(levels, releases)


def _keys(state: State, rows: Integers) -> Iterator[object]:
    """Yield keys of all that the future depends on."""
    columns = [column[rows].tolist() for name, column in state.items() if name != "history"]
    return map(repr, zip(*columns, strict=True))
