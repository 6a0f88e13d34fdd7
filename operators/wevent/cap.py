"""The most that one tick may be charged, whatever the rule of a strategy would offer."""

from dataclasses import dataclass
from fractions import Fraction

from fugu.operators.budget_units import UNITS_PER_NAT


@dataclass(frozen=True)
class Cap:
    """Limit what a tick is charged, in units of 2^-40 nat: its decision, and its publication.

    Source: PBA specification, section 6 (guard).
    """

    decision: int
    publication: int

    @classmethod
    def within(cls, largest_epsilon: float, decision: int, sensitivity: int = 2) -> "Cap":
        """Return the caps that keep a tick within `largest_epsilon` nats under a change.

        `decision`: what a decision costs uncapped, in units; it gets at most half. `sensitivity`:
        that of a change (2, or a local mechanism), or of adding a user (1). Caps round down.

        >>> Cap.within(0.5, decision=2**40 // 20)
        Cap(decision=54975581388, publication=494780232500)
        """
        if sensitivity not in (1, 2):
            raise ValueError(f"sensitivity: must be 1 or 2, not {sensitivity}")
        both = int(Fraction(largest_epsilon) * UNITS_PER_NAT * sensitivity / 2)
        capped = min(decision, both // 2)
        return cls(capped, both - capped)
