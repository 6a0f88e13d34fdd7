"""Streams of numbered payloads, with keyed draws: the value of tick t is t, as text."""

from dataclasses import dataclass, field

import numpy as np

from fugu.operators.columns import encode_fields
from fugu.operators.mechanism import Inputs, Integers, Releases, State
from fugu.operators.randomness import DrawScope, KeyedDraws, Secret
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation


@dataclass(eq=False)
class Run:
    """`rows` streams that advance together; `released` holds, tick by tick, what came when."""

    mechanism: TemporalPerturbation
    rows: int
    seed: int = 1
    state: State = field(init=False)
    ticks: int = 0
    released: list[Integers] = field(default_factory=list)
    """0 where nothing was released."""
    waited: list[Integers] = field(default_factory=list)
    """Return how many ticks each value waited, -1 where nothing was released."""
    releases: list[Releases] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state = self.mechanism.start(self.rows)

    def advance(self, ticks: int, *, none_at: tuple[int, ...] = ()) -> "Run":
        """So many ticks more; those in `none_at` have no value."""
        for _ in range(ticks):
            self.ticks += 1
            value = None if self.ticks in none_at else b"%d" % self.ticks
            values = np.full(self.rows, value, dtype=object)
            self.state, releases = self.mechanism.step(self.state, Inputs(values), self.draws)
            self.releases.append(releases)
            self.released.append(numbers(releases))
            waited = self.ticks - self.released[-1]
            self.waited.append(np.where(self.released[-1] > 0, waited, -1))
        return self

    @property
    def draws(self) -> KeyedDraws:
        """Return those of the last tick, or of an end after it."""
        scope = DrawScope(
            Secret(bytes([self.seed] * 32)), "tests", "t", 1, self.mechanism.law_digest()
        )
        keys = [b"stream %d" % row for row in range(self.rows)]
        return scope.draws(keys, [encode_fields(self.ticks)] * self.rows)

    def finish(self) -> tuple[State, tuple[Releases, ...]]:
        """End the epoch of every stream."""
        return self.mechanism.finish(self.state, self.draws)

    def since(self, tick: int) -> Integers:
        """Return what was released from a tick on, `(ticks, rows)`."""
        return np.array(self.released[tick - 1 :])

    def delays_since(self, tick: int) -> Integers:
        """Return how long it had waited, `(ticks, rows)`."""
        return np.array(self.waited[tick - 1 :])


def numbers(releases: Releases) -> Integers:
    """The numbers of what was released, 0 for nothing."""
    return np.array([int(value or 0) for value in releases.values.tolist()])
