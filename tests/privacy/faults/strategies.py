"""Plant faults in strategies that have a budget for any window."""

import numpy as np

from fugu.dataflows.kinds.uniform import UniformOperator
from fugu.operators.mechanism import Integers
from fugu.operators.wevent import strategy
from fugu.operators.wevent.allocation import Booleans, Offer, Rule
from fugu.operators.wevent.tick import Tick
from fugu.operators.wevent.uniform import Uniform
from tests.privacy.faults.planted import InAudit, Planted, Replacing

FAMILY = "windows"


class HalvedTick(Tick):
    """Add half of the noise that was drawn."""

    def noisy(self, rows: Integers, numbers: Integers, budgets: Integers, purpose: str) -> Integers:
        return numbers + (super().noisy(rows, numbers, budgets, purpose) - numbers) // 2


class TruthfulTick(Tick):
    """Compare exact distances, without noise."""

    def dissimilar(self, rows: Integers, offer: Offer) -> Booleans:
        apart = np.abs(self.state["released"][rows] - self.values[rows]).sum(axis=1)
        price = offer.publication[rows] // self._sensitivity(rows)
        return np.asarray(apart > (self.values.shape[1] << 40) // price)


class EveryTickHasAWindow(Uniform):
    """Give every tick the budget of a whole window."""

    def _rule(self, epsilon: int, smallest: int) -> Rule:
        return self.rule_class(1, epsilon, smallest, self.cap)


UNIFORM = InAudit("uniform")
NOISE = Replacing(strategy, "Tick", UNIFORM)
DECISION = Replacing(strategy, "Tick", InAudit("budget_absorption"))
WINDOW = Replacing(UniformOperator, "strategy_class", UNIFORM)
PLANTED = (
    Planted("halved noise", Tick, HalvedTick, NOISE, 1e-3),
    Planted("decision taken on truth", Tick, TruthfulTick, DECISION, 1e-3),
    Planted("ignored window", Uniform, EveryTickHasAWindow, WINDOW, 1e-3),
)
