"""What one tick may be charged at most, whatever the rule of a strategy would offer.

Source: PBA specification, section 6 (guard).
"""

from dataclasses import dataclass
from fractions import Fraction

from fugu.operators.budget_units import UNITS_PER_NAT


@dataclass(frozen=True)
class Cap:
    """In units of 2^-40 nat: on the decision whether to publish (phase 1), and on publishing."""

    decision: int
    publication: int

    @classmethod
    def within(cls, largest_epsilon: float, decision: int, sensitivity: int = 2) -> "Cap":
        """For a mechanism that spends `decision` units on each decision, if it is not capped.

        Together the caps are what `largest_epsilon` nats under a change allow a mechanism whose
        sensitivity is that of a change (2, or a local mechanism) or of adding a user (1); rounded
        down. A decision gets at most half of it.

        >>> Cap.within(0.5, decision=2**40 // 20)
        Cap(decision=54975581388, publication=494780232500)
        """
        if sensitivity not in (1, 2):
            raise ValueError(f"sensitivity: must be 1 or 2, not {sensitivity}")
        both = int(Fraction(largest_epsilon) * UNITS_PER_NAT * sensitivity / 2)
        capped = min(decision, both // 2)
        return cls(capped, both - capped)
