"""UnicornIS: one sample for each relevance interval, with the whole budget, then repeated."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.interval_strategy import Books, IntervalStrategy


@dataclass(frozen=True, eq=False)
class UnicornIS(IntervalStrategy):
    """Sample a tick if none of the open relevance intervals has been sampled; else repeat.

    Claim. Swellfish privacy, as for `PolicyStrategy`: each interval is charged once. A sample has
    noise of scale sensitivity / epsilon. What is published is repeated until the next one: the
    error grows with how far the figures move, and has little to do with how large they are.

    Parameters: those of `PolicyStrategy`, as are input, release and errors.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> from fugu.operators.swellfish.status import Status
    >>> from fugu.operators.trial import released
    >>> once = UnicornIS(HOUSEHOLD, bins=1, epsilon=2.0)
    >>> for tick in released(once, [[500]] * 5):
    ...     status = Status(tick.annotations["status"][0])
    ...     print(tick.values[0, 0], tick.annotations["sensitivity"][0], status.name)
    0 0 NOTHING
    494 100 SAMPLED
    494 320 REPEATED
    437 220 SAMPLED
    437 220 REPEATED

    Source: Swellfish specification, section 5.1, which corrects the paper: it compares the open
    intervals with those of the first sample for ever, and not with those of the last one, so that
    every tick is sampled with epsilon once the first ones have ended.
    """

    kind: ClassVar[str] = "unicorn_is"
    claim: ClassVar[str] = "an interval holds one sample at most, which spends epsilon"
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 (composition) and 5.1"

    def _publication(self, books: Books) -> Integers:
        return np.where(books.ledgers.runs > 0, 0, self.cap)
