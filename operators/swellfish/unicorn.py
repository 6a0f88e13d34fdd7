"""Unicorn: a noisy look says whether a tick is worth a sample; half of epsilon each.

Claim. Swellfish privacy: a single secret of a person's policies is protected with epsilon on the
whole output, up to the delta of finite precision, and what c relevance intervals cover with c times
epsilon. A decision costs epsilon / 2 divided by the largest delta(J) of the open intervals, whether
or not a sample follows, so that those that can matter cost epsilon / 2; samples cost as those of
`unicorn_ps` do, with epsilon / 2. The test is that of `operators.wevent.strategy`. Before the first
release there is nothing to compare with: it is sampled without a decision.

Parameters: those of `unicorn_is`. Input and release: as for `unicorn_is`.

>>> import numpy as np
>>> from fugu.operators.mechanism import Inputs
>>> from fugu.operators.randomness import DrawScope, tick_position
>>> from fugu.operators.secret import Secret
>>> from fugu.operators.swellfish.household import HOUSEHOLD
>>> from fugu.operators.swellfish.strategy import Status
>>> unicorn = Unicorn(HOUSEHOLD, bins=1, epsilon=10.0)
>>> scope = DrawScope(Secret(bytes(32)), "demo", "unicorn", 1, unicorn.law_digest())
>>> state, became = unicorn.start(1), []
>>> for tick in range(8):
...     draws = scope.draws([b"zone"], [tick_position("kitchen", tick)])
...     values = np.array([[500 + 40_000 * (tick >= 4)]])
...     state, releases = unicorn.step(state, Inputs(values), draws)
...     became.append(Status(releases.annotations["status"][0]).name)
>>> became
['NOTHING', 'SAMPLED', 'REPEATED', 'REPEATED', 'SAMPLED', 'REPEATED', 'REPEATED', 'REPEATED']

Source: Swellfish specification, section 5.3, which corrects the paper: Algorithm 4 passes all of
epsilon on to Algorithm 3, and not the half that decisions leave.
"""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.swellfish.interval_strategy import Ledgers
from fugu.operators.swellfish.unicorn_ps import UnicornPS


@dataclass(frozen=True, eq=False)
class Unicorn(UnicornPS):
    """A decision, and perhaps a sample; see the module for claim, parameters, shapes and source."""

    kind: ClassVar[str] = "unicorn"
    claim: ClassVar[str] = (
        "the decisions of an interval that can matter add up to half of epsilon at most, and so do "
        "its samples"
    )
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 (composition), 5.2 and 5.3"

    @property
    def cap(self) -> int:
        """One half; the other one is for decisions."""
        return self.units // 2

    @property
    def decides(self) -> bool:
        """It does."""
        return True

    @property
    def _parts(self) -> int:
        return 2

    def _decision(self, ledgers: Ledgers) -> int:
        return min(ledger.share(self.cap) for ledger in ledgers)
