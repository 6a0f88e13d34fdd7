"""UnicornPS: every tick is sampled, and intervals share out what their largest charges leave."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.interval_strategy import Books, IntervalStrategy


@dataclass(frozen=True, eq=False)
class UnicornPS(IntervalStrategy):
    """Sample every tick with the least that any open relevance interval proposes.

    Claim. Swellfish privacy, as for `PolicyStrategy`. Neighbours differ at no more than delta(J)
    ticks of an interval J, so that only so many of its charges count, the largest ones, and these
    add up to epsilon at most. Each open interval proposes an even share of epsilon, or of what is
    left if that is more.

    Parameters: those of `PolicyStrategy`, as are input, release and errors.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> from fugu.operators.trial import released
    >>> always = UnicornPS(HOUSEHOLD, bins=1, epsilon=1.0, irrelevant="exact")
    >>> for tick in released(always, [[500]] * 4):
    ...     print(tick.values[0, 0], tick.annotations["publication_epsilon"][0].round(3))
    500 0.0
    1197 0.5
    872 0.333
    818 0.333

    Source: Swellfish specification, section 5.2: Algorithm 3, corrected, which gives back the
    smallest of the largest charges where the paper prints that it takes it. What a person's own
    collection of policies would allow beyond the worst one (section 5.4) is not used: ledgers are
    of intervals, not of people.
    """

    kind: ClassVar[str] = "unicorn_ps"
    claim: ClassVar[str] = "the charges of an interval that can matter add up to epsilon at most"
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 (composition) and 5.2 (cap)"

    def _publication(self, books: Books) -> Integers:
        return books.ledgers.proposals(books.ticks, self.cap)
