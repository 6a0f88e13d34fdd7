"""TSBA: budget absorption over windows, and noise for what policies hide.

Claim. Swellfish privacy: a single secret of a person's policies is protected with epsilon on the
whole output, up to the delta of finite precision, and what c relevance intervals cover with c times
epsilon. A baseline that knows how much policies hide in a tick, and not for how long: the w-event
strategy `budget_absorption`, with the sensitivity of each tick in decision, limit and release. An
irrelevant tick is absorbed like a skipped one, and may be exact while the strategy is silent.

Parameters: those of `unicorn_is`, and `window` in ticks, as many as the longest relevance interval
has: while a longer one is open, nothing is published. Input and release: as for `unicorn_is`.

>>> import numpy as np
>>> from fugu.operators.mechanism import Inputs
>>> from fugu.operators.randomness import DrawScope, tick_position
>>> from fugu.operators.secret import Secret
>>> from fugu.operators.swellfish.household import HOUSEHOLD
>>> absorption = TSBudgetAbsorption(HOUSEHOLD, bins=1, epsilon=1.0, window=4)
>>> scope = DrawScope(Secret(bytes(32)), "demo", "ba", 1, absorption.law_digest())
>>> state, charged = absorption.start(1), []
>>> for tick in range(8):
...     draws = scope.draws([b"zone"], [tick_position("kitchen", tick)])
...     values = np.array([[500 + 40_000 * (tick == 4)]])
...     state, releases = absorption.step(state, Inputs(values), draws)
...     charged.append(float(releases.annotations["publication_epsilon"][0]))
>>> charged
[0.0, 0.25, 0.0, 0.0, 0.25, 0.0, 0.0, 0.25]

Source: Swellfish specification, section 6; Kellaris et al. 2014.
"""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.swellfish.window_strategy import WindowStrategy
from fugu.operators.wevent import allocation


@dataclass(frozen=True, eq=False)
class TSBudgetAbsorption(WindowStrategy):
    """What skipped ticks left over; see the module for claim, parameters, shapes and source."""

    kind: ClassVar[str] = "ts_budget_absorption"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetAbsorption
    claim: ClassVar[str] = (
        "a window, and so an interval, spends at most epsilon: half of it on decisions, and on "
        "publications the parts of their own ticks and of skipped ones, which silent ticks pay back"
    )
