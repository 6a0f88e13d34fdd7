"""UnicornPS: every tick is sampled, and intervals share out what their largest charges leave.

Claim. Swellfish privacy: a single secret of a person's policies is protected with epsilon on the
whole output, up to the delta of finite precision, and what c relevance intervals cover with c times
epsilon. Neighbours differ at no more than delta(J) ticks of an interval J, so that only so many of
its charges count, the largest ones, and these add up to epsilon at most. Each open interval
proposes an even share of epsilon, or of what is left if that is more; the least proposal is spent.

Parameters: those of `unicorn_is`. Input and release: as for `unicorn_is`.

>>> import numpy as np
>>> from fugu.operators.mechanism import Inputs
>>> from fugu.operators.randomness import DrawScope, tick_position
>>> from fugu.operators.secret import Secret
>>> from fugu.operators.swellfish.household import HOUSEHOLD
>>> always = UnicornPS(HOUSEHOLD, bins=1, epsilon=1.0, irrelevant="exact")
>>> scope = DrawScope(Secret(bytes(32)), "demo", "ps", 1, always.law_digest())
>>> state = always.start(1)
>>> for tick in range(8):
...     draws = scope.draws([b"zone"], [tick_position("kitchen", tick)])
...     state, releases = always.step(state, Inputs(np.array([[500]])), draws)
...     print(releases.values[0, 0], releases.annotations["publication_epsilon"].round(3)[0])
500 0.0
441 0.5
-589 0.333
1511 0.333
1342 0.333
-462 0.333
500 0.0
560 1.0

Source: Swellfish specification, section 5.2: Algorithm 3, corrected, which gives back the smallest
of the largest charges where the paper prints that it takes it. What a person's own collection of
policies would allow beyond the worst one (section 5.4) is not used: ledgers are of intervals, not
of people.
"""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.swellfish.interval_strategy import IntervalStrategy, Ledgers


@dataclass(frozen=True, eq=False)
class UnicornPS(IntervalStrategy):
    """A sample at every tick; see the module for claim, parameters, shapes and source."""

    kind: ClassVar[str] = "unicorn_ps"
    claim: ClassVar[str] = "the charges of an interval that can matter add up to epsilon at most"
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 (composition) and 5.2 (cap)"

    def _publication(self, tick: int, ledgers: Ledgers) -> int:
        return min(ledger.proposal(tick, self.cap) for ledger in ledgers)
