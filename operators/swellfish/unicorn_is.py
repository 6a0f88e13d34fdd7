"""UnicornIS: one sample for each relevance interval, with the whole budget, and repeated after it.

Claim. Swellfish privacy: a single secret of a person's policies is protected with epsilon on the
whole output, up to the delta of finite precision, and what c relevance intervals cover with c times
epsilon. A tick is sampled, with noise of scale sensitivity / epsilon, if none of the intervals that
are open has been sampled; so each is charged once. What is published is repeated until then: the
error grows with how far the figures move, and has little to do with how large they are.

Parameters: `timeline`, the policies; `bins`, how many numbers a vector has; `epsilon` in nats, for
each relevance interval; `irrelevant`, what is published at ticks of sensitivity 0: `repeat`,
`exact`, or a number of nats. Input: integer vectors `(rows, bins)` that count units, one per tick.
Release: integers `(rows, bins)`, noisy or repeated, annotated with their `status`, with
`decision_epsilon` and `publication_epsilon` (what the tick was charged, in nats), `standard_error`
in units, and the `sensitivity` of the tick, in units.

>>> import numpy as np
>>> from fugu.operators.mechanism import Inputs
>>> from fugu.operators.randomness import DrawScope, tick_position
>>> from fugu.operators.secret import Secret
>>> from fugu.operators.swellfish.household import HOUSEHOLD
>>> from fugu.operators.swellfish.strategy import Status
>>> once = UnicornIS(HOUSEHOLD, bins=1, epsilon=1.0)
>>> scope = DrawScope(Secret(bytes(32)), "demo", "is", 1, once.law_digest())
>>> state = once.start(1)
>>> for tick in range(8):
...     draws = scope.draws([b"zone"], [tick_position("kitchen", tick)])
...     state, releases = once.step(state, Inputs(np.array([[500]])), draws)
...     status, sensitivity = (releases.annotations[name][0] for name in ("status", "sensitivity"))
...     print(tick, sensitivity, releases.values[0, 0], Status(status).name)
0 0 0 NOTHING
1 100 348 SAMPLED
2 320 348 REPEATED
3 220 259 SAMPLED
4 220 259 REPEATED
5 220 259 REPEATED
6 0 259 REPEATED
7 50 431 SAMPLED

Source: Swellfish specification, section 5.1, which corrects the paper: it compares the open
intervals with those of the first sample for ever, and not with those of the last one, so that every
tick is sampled with epsilon once the first ones have ended.
"""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.swellfish.interval_strategy import IntervalStrategy, Ledgers


@dataclass(frozen=True, eq=False)
class UnicornIS(IntervalStrategy):
    """One sample per interval; see the module for claim, parameters, shapes and source."""

    kind: ClassVar[str] = "unicorn_is"
    claim: ClassVar[str] = "an interval holds one sample at most, which spends epsilon"
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 (composition) and 5.1"

    def _publication(self, tick: int, ledgers: Ledgers) -> int:
        return 0 if any(ledger.largest for ledger in ledgers) else self.cap
