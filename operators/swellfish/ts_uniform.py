"""TSUniform: the same budget at every tick of a window, and noise for what policies hide.

Claim. Swellfish privacy: a single secret of a person's policies is protected with epsilon on the
whole output, up to the delta of finite precision, and what c relevance intervals cover with c times
epsilon. A baseline that knows how much policies hide in a tick, and not for how long: the w-event
strategy `uniform`, with the sensitivity of each tick.

Parameters: those of `unicorn_is`, and `window` in ticks, as many as the longest relevance interval
has: while a longer one is open, nothing is published. Input and release: as for `unicorn_is`.

>>> import numpy as np
>>> from fugu.operators.mechanism import Inputs
>>> from fugu.operators.randomness import DrawScope, tick_position
>>> from fugu.operators.secret import Secret
>>> from fugu.operators.swellfish.household import HOUSEHOLD
>>> uniform = TSUniform(HOUSEHOLD, bins=1, epsilon=1.0, window=4)
>>> scope = DrawScope(Secret(bytes(32)), "demo", "uniform", 1, uniform.law_digest())
>>> state, charged = uniform.start(1), []
>>> for tick in range(8):
...     draws = scope.draws([b"zone"], [tick_position("kitchen", tick)])
...     values = np.array([[500 + 40_000 * (tick == 4)]])
...     state, releases = uniform.step(state, Inputs(values), draws)
...     charged.append(float(releases.annotations["publication_epsilon"][0]))
>>> charged
[0.0, 0.25, 0.25, 0.25, 0.25, 0.25, 0.0, 0.25]

Source: Swellfish specification, section 6; Kellaris et al. 2014.
"""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.swellfish.window_strategy import WindowStrategy
from fugu.operators.wevent import allocation


@dataclass(frozen=True, eq=False)
class TSUniform(WindowStrategy):
    """The same at every tick; see the module for claim, parameters, shapes and source."""

    kind: ClassVar[str] = "ts_uniform"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.Uniform
    claim: ClassVar[str] = "a window, and so an interval, shares epsilon evenly among its ticks"
