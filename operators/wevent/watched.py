"""A strategy whose releases say what an adversary with a Markov model has learned from them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from fugu.operators.budget_units import LARGEST_CHARGE, UNITS_PER_NAT
from fugu.operators.byte_fields import digest_of
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.online import OnlineLeakage
from fugu.operators.mechanism import Draws, Guarantee, Inputs, Releases, State
from fugu.operators.wevent.strategy import Strategy

_LEAKAGE = "leakage"
_SHOWN = 1e6
"""Parts of a nat that are shown, rounded up."""


@dataclass(frozen=True, eq=False)
class Watched:
    """Annotate the releases of a strategy with their temporal leakage so far.

    Releases are those of the strategy inside. Each has one more annotation, `backward_leakage`:
    all releases so far tell at most so many nats about the newest tick of one person, to an
    adversary with the declared Markov model (alpha_B). What is released later adds to it;
    `fugu explain` bounds the whole.

    Parameters: `strategy`; `correlation`, the matrices; `factor`, how many times what is spent a
    change leaks: 2 if noise is for users who come or go, else 1; `ValueError` for others. State:
    also `leakage (rows,)`.

    >>> from fugu.operators.trial import released
    >>> from fugu.operators.wevent.uniform import Uniform
    >>> rows = [[0.6, 0.4], [0.1, 0.9]]
    >>> often = TemporalCorrelation.of(rows, backward=rows)
    >>> watched = Watched(Uniform(bins=1, window=2, epsilon=2.0, sensitivity=1), often)
    >>> ticks = released(watched, [[500]] * 3)
    >>> [float(tick.annotations["backward_leakage"][0].round(4)) for tick in ticks]
    [1.0, 1.5499, 1.8558]

    Source: PBA specification, sections 5 and 8.
    """

    strategy: Strategy
    correlation: TemporalCorrelation
    factor: int = 1

    def __post_init__(self) -> None:
        if self.factor not in (1, 2):
            raise ValueError(f"factor: must be 1 or 2, not {self.factor}")

    @property
    def kind(self) -> str:
        """Return the kind of the strategy inside."""
        return self.strategy.kind

    @property
    def implementation(self) -> int:
        """Return the implementation of the strategy inside."""
        return self.strategy.implementation

    def start(self, rows: int) -> State:
        """Return the state before the first tick: nothing has been learned."""
        return {**self.strategy.start(rows), _LEAKAGE: self._online.start(rows)}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Advance the strategy by one tick, and add what that tells."""
        inner = {name: column for name, column in state.items() if name != _LEAKAGE}
        after, releases = self.strategy.step(inner, inputs, draws)
        spent = self.factor * (after["spent"] - state["spent"])
        leakage = self._online.advance(state[_LEAKAGE], spent)
        leaked = self._online.leaked(leakage)
        shown = np.ceil(leaked / UNITS_PER_NAT * _SHOWN) / _SHOWN
        nats = np.where(leaked == LARGEST_CHARGE, inf, shown)
        notes = {**releases.annotations, "backward_leakage": nats}
        return {**after, _LEAKAGE: leakage}, replace(releases, annotations=notes)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the guarantees of the strategy inside."""
        return self.strategy.guarantees()

    def audit(self) -> Mapping[str, object]:
        """Return the audit of the strategy inside."""
        return self.strategy.audit()

    def law_digest(self) -> bytes:
        """Identify the strategy inside and the matrices."""
        both = (self.correlation.backward, self.correlation.forward)
        return digest_of(
            "watched",
            self.implementation,
            self.strategy.law_digest(),
            self.factor,
            *(side.astype("<f8").tobytes() for one in both for side in one.numbers),
        )

    @cached_property
    def _online(self) -> OnlineLeakage:
        return OnlineLeakage(self.correlation, self.factor * self.strategy.largest_tick)
