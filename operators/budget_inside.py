"""Properties of a mechanism that a budget around it leaves alone."""

from abc import ABC

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import (
    ChargingMechanism,
    EnumerableMechanism,
    HoldingMechanism,
    Integers,
    Releases,
    RepeatingMechanism,
    State,
    TimedMechanism,
)


class BudgetInside(RepeatingMechanism, TimedMechanism, HoldingMechanism, ABC):
    """Pass on what the mechanism inside is, whether it has a time, holds back, or repeats."""

    mechanism: ChargingMechanism

    @property
    def kind(self) -> str:
        return self.mechanism.kind

    @property
    def implementation(self) -> int:
        return self.mechanism.implementation

    def holding(self, state: State) -> NDArray[np.bool_]:
        if not isinstance(self.mechanism, HoldingMechanism):
            return np.zeros(len(state["spent"]), dtype=bool)
        return self.mechanism.holding(self._inner(state))

    @property
    def tick_milliseconds(self) -> int | None:
        inside = self.mechanism
        return inside.tick_milliseconds if isinstance(inside, TimedMechanism) else None

    @property
    def outcomes(self) -> tuple[int, int]:
        inside = self.mechanism
        return inside.outcomes if isinstance(inside, EnumerableMechanism) else (0, 0)

    def outcome_of(self, releases: Releases) -> Integers:
        """Return the number inside, or the value where there is nothing else to a release."""
        if isinstance(self.mechanism, RepeatingMechanism):
            return self.mechanism.outcome_of(releases)
        return releases.values

    def published(self, outcomes: Integers) -> Releases:
        if isinstance(self.mechanism, RepeatingMechanism):
            return self.mechanism.published(outcomes)
        return Releases(outcomes)

    def _inner(self, state: State) -> State:
        return {name: state[name] for name in self.mechanism.start(0)}
