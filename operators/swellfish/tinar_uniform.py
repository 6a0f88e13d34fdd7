"""TINARUniform: every tick is sampled with an even share, and noise hides a whole contribution.

Claim. Swellfish privacy: a single secret of a person's policies is protected with epsilon on the
whole output, up to the delta of finite precision, and what c relevance intervals cover with c times
epsilon. A baseline that knows when policies are relevant, and not how much they hide: a tick costs
epsilon divided by the largest delta(J) of the open intervals, its noise is for the sensitivity of a
whole contribution, and a tick is irrelevant if no interval is open.

Parameters: those of `unicorn_is`. Input and release: as for `unicorn_is`; the annotation
`sensitivity` is the one that noise is drawn for.

>>> import numpy as np
>>> from fugu.operators.mechanism import Inputs
>>> from fugu.operators.randomness import DrawScope, tick_position
>>> from fugu.operators.secret import Secret
>>> from fugu.operators.swellfish.household import HOUSEHOLD
>>> even = TINARUniform(HOUSEHOLD, bins=1, epsilon=1.0)
>>> scope = DrawScope(Secret(bytes(32)), "demo", "uniform", 1, even.law_digest())
>>> state, charged = even.start(1), []
>>> for tick in range(8):
...     draws = scope.draws([b"zone"], [tick_position("kitchen", tick)])
...     state, releases = even.step(state, Inputs(np.array([[500]])), draws)
...     charged.append(round(float(releases.annotations["publication_epsilon"][0]), 3))
>>> charged
[0.0, 0.5, 0.333, 0.333, 0.333, 0.333, 0.0, 1.0]

Source: Swellfish specification, section 6.
"""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.swellfish.interval_strategy import IntervalStrategy, Ledgers


@dataclass(frozen=True, eq=False)
class TINARUniform(IntervalStrategy):
    """Even shares; see the module for claim, parameters, shapes and source."""

    kind: ClassVar[str] = "tinar_uniform"
    adapts: ClassVar[bool] = False
    claim: ClassVar[str] = "the ticks of an interval that can matter share epsilon evenly"
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 (composition) and 6"

    def _publication(self, tick: int, ledgers: Ledgers) -> int:
        return min(ledger.share(self.cap) for ledger in ledgers)
