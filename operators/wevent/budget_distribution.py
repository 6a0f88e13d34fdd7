"""Budget distribution (BD): publish when it pays, with half of what the window has left.

Claim. Any `window` consecutive ticks are epsilon-DP together for what one person contributes to
them (w-event privacy), up to the delta of finite precision. Half of epsilon is spread evenly over
noisy decisions; a publication costs half of what those of the window have left of the other half,
so that a window spends less than epsilon (1 - 2^-(window + 1)).

Parameters: those of `uniform`. Input and release: as for `uniform`. State: also `shares`, what the
publications of a window took.

>>> import numpy as np
>>> from fugu.operators.mechanism import Inputs
>>> from fugu.operators.randomness import DrawScope, tick_position
>>> from fugu.operators.secret import Secret
>>> distribution = BudgetDistribution(bins=2, window=2, epsilon=1.0, sensitivity=1)
>>> scope = DrawScope(Secret(bytes(32)), "demo", "bd", 1, distribution.law_digest())
>>> state, published = distribution.start(1), []
>>> for tick, moved in enumerate([0, 0, 80, 80]):
...     draws = scope.draws([b"zones"], [tick_position("vitals", tick)])
...     state, releases = distribution.step(state, Inputs(np.array([[500, moved]])), draws)
...     published += releases.annotations["publication_epsilon"].tolist()
>>> published
[0.25, 0.0, 0.25, 0.0]

Source: PBA specification, sections 2 and 4; Kellaris et al. 2014.
"""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.wevent import allocation
from fugu.operators.wevent.strategy import Strategy


@dataclass(frozen=True, eq=False)
class BudgetDistribution(Strategy):
    """BD; see the module for claim, parameters, shapes and source."""

    kind: ClassVar[str] = "budget_distribution"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetDistribution
    claim: ClassVar[str] = (
        "a window spends less than epsilon: half of it on decisions, and on publications half of "
        "what those of the window have left of the other half"
    )
    proof: ClassVar[str] = "PBA specification, sections 2 (theorem, with all flags 1) and 4 (BD)"
