"""The plainest w-event strategy: every tick gets an equal part of the budget, whatever happens.

Claim. Any `window` consecutive ticks are epsilon-DP together for what one person contributes to
them (w-event privacy), up to the delta of finite precision. The noise has scale
window * sensitivity / epsilon at every tick.

Parameters: `bins`, `window` in ticks, `epsilon` in nats for a window, `sensitivity` in units: by
how much one person's contribution to a tick changes the vector (1 for counts if it can only come or
go, 2 if it can change the bin); `cap` on a tick, if any.
Input: integers `(rows, bins)`. Release: integers `(rows, bins)`, unbiased. State: see `strategy`.

>>> import numpy as np
>>> from fugu.operators.mechanism import Inputs
>>> from fugu.operators.randomness import DrawScope, tick_position
>>> from fugu.operators.secret import Secret
>>> uniform = Uniform(bins=3, window=10, epsilon=1.0, sensitivity=1)
>>> scope = DrawScope(Secret(bytes(32)), "demo", "uniform", 1, uniform.law_digest())
>>> draws = scope.draws([b"zones"], [tick_position("vitals", 7)])
>>> _, releases = uniform.step(uniform.start(1), Inputs(np.array([[500, 20, 0]])), draws)
>>> releases.values.tolist(), releases.annotations["standard_error"].round(2).tolist()
([[490, 18, -10]], [14.14])

Source: PBA specification, section 4; Kellaris et al. 2014.
"""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.wevent import allocation
from fugu.operators.wevent.strategy import Strategy


@dataclass(frozen=True, eq=False)
class Uniform(Strategy):
    """Fresh noise at every tick; see the module for claim, parameters, shapes and source."""

    kind: ClassVar[str] = "uniform"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.Uniform
    claim: ClassVar[str] = "a window spends epsilon: an equal part at every tick"
    proof: ClassVar[str] = "PBA specification, section 4 (Uniform); sequential composition"
