"""The ledger of an open relevance interval, with a loop over charges: what is fast is compared
with it."""

from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby, repeat

import numpy as np

from fugu.operators.swellfish.relevance import Interval


@dataclass(frozen=True)
class Ledger:
    """Keep the charges of an open relevance interval, as far as they matter.

    Claim. Whatever is spent and skipped, and however intervals overlap, the `affected` largest
    charges within the interval add up to at most `cap`. All numbers are integers, in units of 2^-40
    nat, and shares round down, so the claim holds in exact arithmetic; `spend` checks it again at
    every charge.

    Neighbours differ at no more than `affected` ticks of the interval, delta(J) as it was when the
    interval was opened, so that only the `largest` charges matter (ascending): a charge that is
    larger than the smallest of them takes its place, which gives that one back.

    >>> ledger = Ledger(start=3, end=6, affected=2).spend(20, cap=100)
    >>> [ledger.proposal(tick, cap=100) for tick in (4, 5, 6)]
    [50, 50, 80]
    >>> ledger.spend(50, cap=100).spend(30, cap=100).largest
    (30, 50)

    Source: Swellfish specification, section 5.2 (Algorithm 3, corrected).
    """

    start: int
    end: int
    affected: int
    largest: tuple[int, ...] = ()

    def headroom(self, cap: int) -> int:
        """Return the most that a tick may be charged now: what is left, and what it gives back."""
        return cap - sum(self.largest) + self._given_back

    def share(self, cap: int) -> int:
        """Return c1: what every tick of the interval could be charged."""
        return cap // self.affected

    def proposal(self, tick: int, cap: int) -> int:
        """Return p_J: the share, or the headroom spread over the ticks left, if that is more."""
        headroom = self.headroom(cap)
        return min(max(self.share(cap), headroom // (self.end - tick + 1)), headroom)

    def spend(self, charge: int, cap: int) -> "Ledger":
        """Return the ledger after a charge that is not 0; `ArithmeticError` above the cap."""
        if charge > self.headroom(cap):
            raise ArithmeticError(
                "budget: a relevance interval was about to be charged more than epsilon; the state "
                "is damaged, restore it from a snapshot"
            )
        if charge <= self._given_back:
            return self
        largest = list(self.largest[1:] if self._given_back else self.largest)
        insort(largest, charge)
        return Ledger(self.start, self.end, self.affected, tuple(largest))

    @property
    def _given_back(self) -> int:
        return self.largest[0] if len(self.largest) == self.affected else 0


def opened(ledgers: Iterable[Ledger], intervals: Iterable[Interval], tick: int) -> list[Ledger]:
    """Return the ledgers that are open at the tick, in order, with new ones for intervals that
    have none."""
    known = [ledger for ledger in ledgers if ledger.end >= tick]
    places = {(ledger.start, ledger.end) for ledger in known}
    new = [
        Ledger(interval.start, interval.end, interval.affected)
        for interval in intervals
        if (interval.start, interval.end) not in places
    ]
    return sorted([*known, *new], key=lambda ledger: (ledger.start, ledger.end))


def encoded(ledgers: Iterable[Ledger]) -> bytes:
    """Encode ledgers; equal charges are counted, since most of them are."""
    numbers: list[int] = []
    for ledger in ledgers:
        runs = [(charge, len(list(equal))) for charge, equal in groupby(ledger.largest)]
        numbers += [ledger.start, ledger.end, ledger.affected, len(runs)]
        numbers += [number for run in runs for number in run]
    return np.array(numbers, dtype="<i8").tobytes()


def decoded(content: bytes) -> Iterator[Ledger]:
    """Yield the ledgers that `encoded` was given."""
    numbers = np.frombuffer(content, dtype="<i8").tolist()
    at = 0
    while at < len(numbers):
        start, end, affected, runs = numbers[at : at + 4]
        charges = numbers[at + 4 : at + 4 + 2 * runs]
        at += 4 + len(charges)
        largest = chain.from_iterable(map(repeat, charges[::2], charges[1::2]))
        yield Ledger(start, end, affected, tuple(largest))
