"""Uniform: the w-event strategy that publishes every tick with an equal part of the budget."""

from dataclasses import dataclass, replace
from typing import ClassVar

from fugu.operators.budget_units import in_nats
from fugu.operators.guarantee import Guarantee
from fugu.operators.loss import RepeatedLoss
from fugu.operators.wevent import allocation
from fugu.operators.wevent.strategy import Strategy


@dataclass(frozen=True, eq=False)
class Uniform(Strategy):
    """Publish every tick with fresh noise of scale window * sensitivity / epsilon.

    Claim. Any `window` consecutive ticks are epsilon-DP together for what one person contributes
    to them (w-event privacy), up to the delta of finite precision.

    Parameters: those of `Strategy`, as are input, release, state and errors.

    >>> from fugu.operators.trial import released
    >>> uniform = Uniform(bins=3, window=10, epsilon=1.0, sensitivity=1)
    >>> [release] = released(uniform, [[500, 20, 0]])
    >>> release.values.tolist(), release.annotations["standard_error"].round(2).tolist()
    ([[500, 4, 8]], [14.14])

    Source: PBA specification, section 4; Kellaris et al. 2014.
    """

    kind: ClassVar[str] = "uniform"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.Uniform
    claim: ClassVar[str] = "a window spends epsilon: an equal part at every tick"
    proof: ClassVar[str] = "PBA specification, section 4 (Uniform); sequential composition"

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return w-event differential privacy, whose loss is that of equal ticks."""
        [promised] = super().guarantees()
        return (replace(promised, loss=RepeatedLoss(in_nats(self.largest_tick), self.window)),)
