"""Limit in how many ticks of a period a person counts: a personal cap."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fugu.operators.columns import encode_fields
from fugu.operators.mechanism import Integers

Booleans = NDArray[np.bool_]
Allowance = Literal["first", "rising"]

LARGEST_COUNT = 2**15 - 1
"""The most ticks that a person may count in: the number shares 64 bits with a tick."""
_NUMBER_BITS = 15
_LARGEST_TICK = 2**48 - 1
"""Nobody counts in a tick beyond it: ticks of a millisecond reach the year 9999 before."""
_NEVER = -(2**63)
"""The value kept for a person who has not counted yet."""


@dataclass(frozen=True)
class PersonalCap:
    """Let every person count in at most `at_most` ticks of an aligned period of `ticks` ticks.

    Claim. Let two inputs differ in the contributions of one person within one aligned period, and
    in no key, offset or timestamp. Each contribution goes to one group and amounts to at most A.
    Then the sums of all ticks and groups differ by at most factor * at_most * A^2 in squares, and
    by at most 2 * at_most * A in L1. Moves between groups are included, and so is that other ticks
    may count. Where sums are mixed over ticks by a lower-triangular Toeplitz matrix whose first
    column falls and is not negative, its `totals.participation` takes the place of `at_most`.

    Rule. When a tick is closed, a person who contributes something other than zero counts if the
    person has counted in fewer ticks of this period than the allowance, and last counted at least
    `apart` ticks ago. The `first` allowance is `at_most` from the start; a `rising` one is 1 at
    first and grows to `at_most` over the period. Nobody is told who did not count. Ticks close in
    order, so the order in which records come does not matter.

    Parameters: `at_most`; `ticks`, the length of a period, which begins at multiples of it since
    1970; `allowance`; `apart` in ticks; `signed`, whether amounts may be negative. Raises
    `ValueError` naming the parameter. What is remembered of a person are 8 bytes: the last tick
    that counted, and how many of its period did.

    >>> cap = PersonalCap(at_most=2, ticks=10)
    >>> counted = cap.start(1)
    >>> for tick in (3, 4, 5, 10):
    ...     counts = cap.may_count(counted, tick)
    ...     counted = cap.after(counted, tick, counts)
    ...     print(tick, counts.tolist())
    3 [True]
    4 [True]
    5 [False]
    10 [True]

    Source: continual release specification, section 2 (Theorem 1).
    """

    at_most: int
    ticks: int
    allowance: Allowance = "first"
    apart: int = 1
    signed: bool = False

    def __post_init__(self) -> None:
        if self.ticks < 1:
            raise ValueError(f"ticks: must be at least 1, not {self.ticks}")
        if not 1 <= self.at_most <= min(LARGEST_COUNT, self.ticks):
            raise ValueError(
                f"at_most: must be from 1 to {min(LARGEST_COUNT, self.ticks):,}, the ticks of a "
                f"period, not {self.at_most}"
            )
        if self.allowance not in ("first", "rising"):
            raise ValueError("allowance: must be first or rising")
        if not 1 <= self.apart <= self.ticks:
            raise ValueError(
                f"apart: must be from 1 to {self.ticks:,}, the ticks of a period, not {self.apart}"
            )

    @property
    def factor(self) -> int:
        """Return how many times the squares of one person's contributions neighbours differ by."""
        return 4 if self.signed else 2

    @property
    def largest_move(self) -> int:
        """Return how many times a contribution neighbours move one figure by at most."""
        return 2 if self.signed else 1

    @property
    def counted(self) -> int:
        """Return in how many ticks of a period a person can count, which `apart` may limit, too."""
        return min(self.at_most, -(-self.ticks // self.apart))

    def period_of(self, tick: int) -> int:
        """Return the number of the period that a tick lies in."""
        return tick // self.ticks

    def allowed(self, tick: int) -> int:
        """Return in how many ticks of the period a person may have counted after this one."""
        if self.allowance == "first":
            return self.at_most
        return min(self.at_most, 1 + self.at_most * (tick % self.ticks) // self.ticks)

    def start(self, rows: int) -> Integers:
        """Return what is remembered of people who have not counted yet."""
        return np.full(rows, _NEVER)

    def may_count(self, counted: Integers, tick: int) -> Booleans:
        """Return whose contributions to a tick count, if they are not zero."""
        if abs(tick) > _LARGEST_TICK:
            return np.zeros(len(counted), dtype=np.bool_)
        last, number = self._read(counted, tick)
        soon = (number > 0) & (tick - last < self.apart)
        return np.asarray((number < self.allowed(tick)) & ~soon)

    def after(self, counted: Integers, tick: int, counts: Booleans) -> Integers:
        """Return what is remembered once a tick is closed in which these people counted."""
        _, number = self._read(counted, tick)
        return np.where(counts, (tick << _NUMBER_BITS) + number + 1, counted)

    def identity(self) -> bytes:
        """Encode the rule."""
        return encode_fields(
            "personal cap", self.at_most, self.ticks, self.allowance, self.apart, int(self.signed)
        )

    def _read(self, counted: Integers, tick: int) -> tuple[Integers, Integers]:
        """Return the last tick that counted, and how many did in the period of `tick`."""
        last = counted >> _NUMBER_BITS
        here = (counted != _NEVER) & (last // self.ticks == self.period_of(tick))
        return last, np.where(here, counted & LARGEST_COUNT, 0)


@runtime_checkable
class CappedMechanism(Protocol):
    """Rely on a cap, if it names one, that people's contributions keep to."""

    @property
    def personal_cap(self) -> PersonalCap | None:
        """Return the cap; None where everybody counts in every tick."""


def cap_of(mechanism: object) -> PersonalCap | None:
    """Return the cap that a mechanism relies on."""
    return mechanism.personal_cap if isinstance(mechanism, CappedMechanism) else None
