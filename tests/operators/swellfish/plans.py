"""UnicornPlan that starts with a plan: its own, or one of somebody who wants to break it."""

import numpy as np

from fugu.operators.mechanism import State
from fugu.operators.swellfish.planning import Plan, UnicornPlan, digest_of_changes


class OwnPlan(UnicornPlan):
    """Start with the plan that it makes."""

    def start(self, rows: int) -> State:
        state = super().start(rows)
        plan = self.plan(super().start(1))
        return state if plan is None else self.after_plan(state, plan)


class WildPlan(UnicornPlan):
    """Start with charges at random, from nothing to three times epsilon."""

    def start(self, rows: int) -> State:
        rng = np.random.default_rng(int.from_bytes(self.timeline.digest()[:4], "big"))
        wishes = self.units * rng.choice([0.0, 0.05, 0.2, 0.5, 1.0, 3.0], size=100)
        return self.after_plan(super().start(rows), plan_of(wishes.astype(int).tolist()))


class EverythingAtOnce(UnicornPlan):
    """Start with a plan that charges the most that there is at every tick."""

    def start(self, rows: int) -> State:
        return self.after_plan(super().start(rows), plan_of([2**62] * 100))


def plan_of(charges: list[int], changes: bytes = b"", first: int = 0) -> bytes:
    """Return a plan that charges these units, tick by tick."""
    ticks = (1,) * len(charges)
    return Plan(first, digest_of_changes(changes), ticks, tuple(charges)).encoded()
