"""Unicorn*: Unicorn with all of epsilon for figures, and decisions that see the true ones."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.interval_strategies import UnicornPS
from fugu.operators.wevent.allocation import Booleans, Offer
from fugu.operators.wevent.strategy import Tick


@dataclass(frozen=True, eq=False)
class UnicornStar(UnicornPS):
    """Sample exactly where a figure is farther from the last release than the noise would be.

    Claim. None: what is sampled tells the true figures, without noise. It is a yardstick for the
    decisions of `Unicorn`, and no kind of operator. Parameters: those of `PolicyStrategy`.
    Source: Swellfish paper, section 5.2.2.
    """

    kind: ClassVar[str] = "unicorn_star"

    @property
    def decides(self) -> bool:
        return True

    def _charged(self, tick: Tick, offer: Offer, relevant: Booleans, scale: Integers) -> Offer:
        published = relevant & (offer.publication >= scale)
        rows = np.flatnonzero(published & tick.state["begun"])
        apart = np.abs(tick.state["released"][rows] - tick.values[rows]).sum(axis=1)
        price = offer.publication[rows] // scale[rows]
        published[rows] = apart > (self.bins << 40) // price
        return Offer(offer.decision, np.where(published, offer.publication, 0), offer.share)

    def guarantees(self) -> tuple[Guarantee, ...]:
        return ()
