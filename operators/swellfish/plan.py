"""A plan: what coming ticks may be charged, as bytes in the state of a stream."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate

import numpy as np

_DIGEST = 16


@dataclass(frozen=True)
class Plan:
    """Hold charges of the ticks from `first` on, in runs of ticks that are charged the same.

    `policies` identifies the changes of policies that it was made with: after another one, it
    holds no longer. Charges are whole units of 2^-40 nat. Raises `ValueError` for runs of no
    ticks and for negative charges.

    >>> plan = Plan(10, digest_of_changes(b""), ticks=(2, 3), charges=(50, 20))
    >>> [plan.charge(tick) for tick in (9, 10, 11, 12, 14, 15)]
    [0, 50, 50, 20, 20, 0]
    >>> Plan.decoded(plan.encoded()) == plan, plan.holds(14, b""), plan.holds(15, b"")
    (True, True, False)
    """

    first: int
    policies: bytes
    ticks: tuple[int, ...]
    charges: tuple[int, ...]
    _ends: Sequence[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.ticks) != len(self.charges) or min(self.ticks, default=1) < 1:
            raise ValueError("plan: must have a charge for each run of one tick or more")
        if min(self.charges, default=0) < 0:
            raise ValueError("plan: must have no negative charges")
        object.__setattr__(self, "_ends", tuple(accumulate(self.ticks, initial=self.first))[1:])

    def holds(self, tick: int, changes: bytes) -> bool:
        """Return whether it is about this tick, under the policies after these changes."""
        end = self._ends[-1] if self._ends else self.first
        return self.first <= tick < end and self.policies == digest_of_changes(changes)

    def charge(self, tick: int) -> int:
        """Return what a tick is to be charged; 0: nothing is planned."""
        run = bisect_right(self._ends, tick)
        return self.charges[run] if self.first <= tick and run < len(self.charges) else 0

    def until(self, end: int) -> "Plan":
        """Return its part before tick `end`."""
        runs = [
            (min(ticks, end - (last - ticks)), charge)
            for ticks, last, charge in zip(self.ticks, self._ends, self.charges, strict=True)
            if last - ticks < end
        ]
        ticks, charges = zip(*runs, strict=True) if runs else ((), ())
        return Plan(self.first, self.policies, ticks, charges)

    def encoded(self) -> bytes:
        """Return it as bytes."""
        numbers = [self.first, *self.ticks, *self.charges]
        return self.policies + np.array(numbers, dtype="<i8").tobytes()

    @staticmethod
    @lru_cache(maxsize=64)
    def decoded(content: bytes) -> "Plan":
        """Return the plan that `encoded` gave; `ValueError` for anything else."""
        runs, rest = divmod(len(content) - _DIGEST - 8, 16)
        if runs < 0 or rest:
            raise ValueError("plan: must be a digest, the first tick, runs of ticks and charges")
        first, *numbers = np.frombuffer(content, dtype="<i8", offset=_DIGEST).tolist()
        return Plan(first, content[:_DIGEST], tuple(numbers[:runs]), tuple(numbers[runs:]))


@lru_cache(maxsize=64)
def digest_of_changes(changes: bytes) -> bytes:
    """Identify changes of policies, in 16 bytes."""
    return blake2b(changes, digest_size=_DIGEST).digest()
