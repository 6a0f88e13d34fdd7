"""Budget absorption (BA): publish when it pays, with the budget that skipped ticks left over.

Claim. Any `window` consecutive ticks are epsilon-DP together for what one person contributes to
them (w-event privacy), up to the delta of finite precision. Half of epsilon is spread evenly over
noisy decisions, the other half evenly over publications. One that absorbs the parts of n skipped
ticks is followed by n silent ones, which repeat it without a look at the data, so that a window
spends at most epsilon, and may spend all of it.

Parameters: those of `uniform`. Input and release: as for `uniform`. State: also `last`, the tick of
the last publication, and `multiple`: of how many ticks it had the part.

>>> import numpy as np
>>> from fugu.operators.mechanism import Inputs
>>> from fugu.operators.randomness import DrawScope, tick_position
>>> from fugu.operators.secret import Secret
>>> absorption = BudgetAbsorption(bins=2, window=2, epsilon=1.0, sensitivity=1)
>>> scope = DrawScope(Secret(bytes(32)), "demo", "ba", 1, absorption.law_digest())
>>> state, published = absorption.start(1), []
>>> for tick in range(4):
...     draws = scope.draws([b"zones"], [tick_position("vitals", tick)])
...     state, releases = absorption.step(state, Inputs(np.array([[0, 80 * (tick > 0)]])), draws)
...     published += releases.annotations["publication_epsilon"].tolist()
>>> published
[0.0, 0.5, 0.0, 0.0]

Source: PBA specification, section 4; Kellaris et al. 2014.
"""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.wevent import allocation
from fugu.operators.wevent.strategy import Strategy


@dataclass(frozen=True, eq=False)
class BudgetAbsorption(Strategy):
    """BA; see the module for claim, parameters, shapes and source."""

    kind: ClassVar[str] = "budget_absorption"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetAbsorption
    claim: ClassVar[str] = (
        "a window spends at most epsilon: half of it on decisions, and on publications the parts "
        "of their own ticks and of skipped ones, which silent ticks pay back"
    )
    proof: ClassVar[str] = "PBA specification, section 4 (BA)"
