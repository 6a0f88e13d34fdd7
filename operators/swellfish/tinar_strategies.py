"""TINAR baselines: ledgers of relevance intervals, with noise for a whole contribution."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.interval_strategy import Books, IntervalStrategy
from fugu.operators.swellfish.unicorn_is import UnicornIS


@dataclass(frozen=True, eq=False)
class TINARUniform(IntervalStrategy):
    """Sample every tick with an even share, and with noise for a whole contribution.

    Claim. Swellfish privacy, as for `PolicyStrategy`. A baseline that knows when policies are
    relevant, and not how much they hide: a tick costs epsilon divided by the largest delta(J) of
    the open intervals. A tick is irrelevant if no interval is open.

    Parameters: those of `PolicyStrategy`, as are input, release and errors; the annotation
    `sensitivity` is the one that noise is drawn for.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> from fugu.operators.trial import released
    >>> ticks = released(TINARUniform(HOUSEHOLD, bins=1, epsilon=1.0), [[500]] * 8)
    >>> [float(tick.annotations["publication_epsilon"][0].round(3)) for tick in ticks]
    [0.0, 0.5, 0.333, 0.333, 0.333, 0.333, 0.0, 1.0]

    Source: Swellfish specification, section 6.
    """

    kind: ClassVar[str] = "tinar_uniform"
    adapts: ClassVar[bool] = False
    claim: ClassVar[str] = "the ticks of an interval that can matter share epsilon evenly"
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 (composition) and 6"

    def _publication(self, books: Books) -> Integers:
        return books.ledgers.share(self.cap)


@dataclass(frozen=True, eq=False)
class TINARSample(UnicornIS):
    """Sample each relevance interval once, and with noise for a whole contribution.

    Claim. As for `UnicornIS`, whose noise is here for the sensitivity of a whole contribution. A
    tick is irrelevant if no interval is open.

    Parameters: those of `TINARUniform`. Source: Swellfish specification, sections 5.1 and 6.
    """

    kind: ClassVar[str] = "tinar_sample"
    adapts: ClassVar[bool] = False
