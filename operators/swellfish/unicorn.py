"""Unicorn: a noisy dissimilarity test, charged to the budget, says whether to sample a tick."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.interval_strategy import Books
from fugu.operators.swellfish.unicorn_ps import UnicornPS


@dataclass(frozen=True, eq=False)
class Unicorn(UnicornPS):
    """Sample a tick where a noisy dissimilarity test says that it pays; half of epsilon each.

    Claim. Swellfish privacy, as for `PolicyStrategy`. A decision costs epsilon / 2 divided by the
    largest delta(J) of the open intervals, whether or not a sample follows, so that those that can
    matter cost epsilon / 2; samples cost as those of `UnicornPS` do, with epsilon / 2. The test is
    that of `operators.wevent.strategy`. Before the first release there is nothing to compare with:
    it is sampled without a decision.

    Parameters: those of `PolicyStrategy`, as are input, release and errors.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> from fugu.operators.swellfish.status import Status
    >>> from fugu.operators.trial import released
    >>> unicorn = Unicorn(HOUSEHOLD, bins=1, epsilon=20.0)
    >>> ticks = released(unicorn, [[500]] * 4 + [[40_500]] * 2)
    >>> [Status(tick.annotations["status"][0]).name for tick in ticks]
    ['NOTHING', 'SAMPLED', 'REPEATED', 'REPEATED', 'SAMPLED', 'SAMPLED']

    Source: Swellfish specification, section 5.3, which corrects the paper: Algorithm 4 passes all
    of epsilon on to Algorithm 3, and not the half that decisions leave.
    """

    kind: ClassVar[str] = "unicorn"
    claim: ClassVar[str] = (
        "the decisions of an interval that can matter add up to half of epsilon at most, and so do "
        "its samples"
    )
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 (composition), 5.2 and 5.3"

    @property
    def cap(self) -> int:
        """Return one half of epsilon; the other one is for decisions."""
        return self.units // 2

    @property
    def decides(self) -> bool:
        return True

    @property
    def _parts(self) -> int:
        return 2

    def _decision(self, books: Books) -> Integers:
        return books.ledgers.share(self.cap)
