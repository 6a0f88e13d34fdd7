"""Runs a strategy over a timeline, and says what every tick was charged."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fugu.operators.mechanism import Array, Draws, Inputs, Integers, Releases, State
from fugu.operators.swellfish.relevance import Interval
from fugu.operators.swellfish.strategy import PolicyStrategy
from tests.operators.noise.simulated import SimulatedDraws

Strategy = PolicyStrategy[Any]
UNITS = 2**40


@dataclass(frozen=True)
class Ran:
    """The state after it, and the releases tick by tick."""

    state: State
    releases: list[Releases]

    def column(self, name: str) -> Array:
        """An annotation, `(ticks, rows)`."""
        return np.stack([releases.annotations[name] for releases in self.releases])

    def units(self, name: str) -> Integers:
        """The same, of what is told in nats."""
        exact = self.column(f"{name}_epsilon") * UNITS
        assert (exact == np.rint(exact)).all()
        return exact.astype(np.int64)

    def charged(self) -> Integers:
        """Decisions and publications, `(ticks, rows)`."""
        return self.units("decision") + self.units("publication")

    @property
    def values(self) -> Integers:
        """`(ticks, rows, bins)`."""
        return np.stack([releases.values for releases in self.releases])


def run(strategy: Strategy, truth: Array, draws: Draws, state: State | None = None) -> Ran:
    """All ticks of `truth (ticks, rows, bins)`."""
    state, released = strategy.start(truth.shape[1]) if state is None else state, []
    for values in truth:
        state, releases = strategy.step(state, Inputs(values), draws)
        released.append(releases)
    return Ran(state, released)


def simulated(seed: int) -> SimulatedDraws:
    return SimulatedDraws(np.random.default_rng(seed))


def largest_charges(charged: Integers, interval: Interval) -> Integers:
    """Add up the `affected` largest charges within the interval, row by row."""
    within = np.sort(charged[interval.start : interval.end + 1], axis=0)
    total: Integers = within[-interval.affected :].sum(axis=0)
    return total
