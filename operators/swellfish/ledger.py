"""The ledgers of open relevance intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from fugu.operators.mechanism import Integers
from fugu.operators.wevent.allocation import Booleans

_HEADER = 4
"""Numbers that are written before the charges of a ledger."""


@dataclass(frozen=True, eq=False)
class Ledgers:
    """Keep the charges of open relevance intervals, as far as they matter.

    Claim. Whatever is spent and skipped, and however intervals overlap, the `affected` largest
    charges within the interval add up to at most `cap`. All numbers are integers, in units of 2^-40
    nat, and shares round down, so the claim holds in exact arithmetic; `spend` checks it again at
    every charge.

    Neighbours differ at no more than `affected` ticks of the interval, delta(J) as it was when the
    interval was opened, so that only so many of the largest charges matter: a charge that is larger
    than the smallest of them takes its place, which gives that one back.

    Books are looked at together: `book`, `start`, `end` and `affected` are columns with a ledger in
    each row, in order. A ledger has `runs` rows of `charges` and `counts`: the largest charges,
    ascending, and how often it has each. No loop goes over charges, since there may be many.

    >>> [first] = np.array([[[3, 6, 2]]])
    >>> ledgers = Ledgers.decoded([b""]).opened(np.array([3]), [first]).spend(np.array([20]), 100)
    >>> [int(ledgers.proposals(np.array([tick]), cap=100)[0]) for tick in (4, 5, 6)]
    [50, 50, 80]
    >>> ledgers.spend(np.array([50]), 100).spend(np.array([30]), 100).charges
    array([30, 50])

    Source: Swellfish specification, section 5.2 (Algorithm 3, corrected).
    """

    books: int
    book: Integers
    start: Integers
    end: Integers
    affected: Integers
    runs: Integers
    charges: Integers
    counts: Integers

    def headroom(self, cap: int) -> Integers:
        """Return the most that a tick may be charged now: what is left, and what it gives back."""
        return cap - self._total + self.given_back

    @cached_property
    def given_back(self) -> Integers:
        """Return the smallest charge of the ledgers that have as many as can matter; else 0."""
        given_back = np.zeros(len(self.book), dtype=np.int64)
        given_back[self._full] = self.charges[self._first[self._full]]
        return given_back

    def share(self, cap: int) -> Integers:
        """Return c1: what every tick of the interval could be charged."""
        return cap // self.affected

    def proposals(self, ticks: Integers, cap: int) -> Integers:
        """Return p_J: the share, or the headroom spread over the ticks left, if that is more.

        `ticks` has the tick of every book.
        """
        headroom = self.headroom(cap)
        spread = headroom // (self.end - ticks[self.book] + 1)
        return np.minimum(np.maximum(self.share(cap), spread), headroom)

    def least(self, of_ledgers: Integers) -> Integers:
        """Return the smallest number of each book; 0 where it has no ledger."""
        least = np.zeros(self.books, dtype=np.int64)
        present, first = np.unique(self.book, return_index=True)
        least[present] = np.minimum.reduceat(of_ledgers, first) if len(first) else 0
        return least

    def spend(self, charges: Integers, cap: int) -> "Ledgers":
        """Return the ledgers after a charge to each book, if any; `ArithmeticError` above `cap`."""
        charge = charges[self.book]
        if np.any((charge > 0) & (charge > self.headroom(cap))):
            raise ArithmeticError(
                "budget: a relevance interval was about to be charged more than epsilon; the state "
                "is damaged, restore it from a snapshot"
            )
        matters = charge > self.given_back
        return self._without_smallest(matters & self._full)._with(charge, matters)

    def opened(self, ticks: Integers, intervals: Sequence[Integers]) -> "Ledgers":
        """Return the ledgers that are open at the tick of each book, in order, with new ones for
        intervals that have none; intervals are rows of start, end and delta(J)."""
        known = self._only(self.end >= ticks[self.book])
        of_book = np.repeat(np.arange(self.books), [len(rows) for rows in intervals])
        start, end, affected = np.concatenate([np.zeros((0, 3), np.int64), *intervals]).T
        new = replace(
            known,
            book=np.concatenate([known.book, of_book]),
            start=np.concatenate([known.start, start]),
            end=np.concatenate([known.end, end]),
            affected=np.concatenate([known.affected, affected]),
            runs=np.concatenate([known.runs, np.zeros(len(of_book), dtype=np.int64)]),
        )
        order = np.lexsort((new.end, new.start, new.book))
        places = np.stack([new.book, new.start, new.end])[:, order]
        again = np.zeros(len(order), dtype=np.bool_)
        again[1:] = (places[:, 1:] == places[:, :-1]).all(axis=0)
        return new._rows(order[~again])

    def of_books(self, books: Integers) -> "Ledgers":
        """Return the ledgers of these books, which may be the same ones several times."""
        bounds = np.searchsorted(self.book, np.arange(self.books + 1))
        ledgers = np.diff(bounds)[books]
        rows = _ranges(bounds[books], ledgers)
        runs = _ranges(self._first[rows], self.runs[rows])
        return replace(
            self._rows(rows),
            books=len(books),
            book=np.repeat(np.arange(len(books)), ledgers),
            charges=self.charges[runs],
            counts=self.counts[runs],
        )

    def encoded(self) -> list[bytes]:
        """Encode each book; equal charges are counted, since most of them are."""
        header = np.stack([self.start, self.end, self.affected, self.runs], axis=1)
        begin = _HEADER * np.arange(len(header) + 1) + 2 * np.append(self._first, len(self.charges))
        numbers = np.empty(begin[-1], dtype="<i8")
        numbers[begin[:-1, None] + np.arange(_HEADER)] = header
        places = _ranges(begin[:-1] + _HEADER, self.runs, 2)
        numbers[places] = self.charges
        numbers[places + 1] = self.counts
        bounds = begin[np.searchsorted(self.book, np.arange(self.books + 1))]
        return [numbers[first:last].tobytes() for first, last in pairwise(bounds)]

    @staticmethod
    def decoded(contents: Sequence[bytes]) -> "Ledgers":
        """Return the ledgers of books that `encoded` gave."""
        numbers = np.frombuffer(b"".join(contents), dtype="<i8")
        places, book, bound = list[int](), list[int](), 0
        for number, content in enumerate(contents):
            place, bound = bound, bound + len(content) // numbers.itemsize
            while place < bound:
                places.append(place)
                book.append(number)
                place += _HEADER + 2 * numbers.item(place + _HEADER - 1)
        header = np.array(places, dtype=np.int64)[:, None] + np.arange(_HEADER)
        charges, counts = np.delete(numbers, header.ravel()).reshape(-1, 2).T
        start, end, affected, runs = numbers[header].T
        of_book = np.array(book, dtype=np.int64)
        return Ledgers(len(contents), of_book, start, end, affected, runs, charges, counts)

    @cached_property
    def _first(self) -> Integers:
        """Return where the runs of each ledger begin."""
        return np.cumsum(self.runs) - self.runs

    @cached_property
    def _total(self) -> Integers:
        """Return what the largest charges of each ledger add up to."""
        return self._added_up(self.charges * self.counts)

    @cached_property
    def _full(self) -> Booleans:
        """Return which ledgers have as many charges as can matter."""
        full: Booleans = self._added_up(self.counts) == self.affected
        return full

    def _added_up(self, of_runs: Integers | Booleans) -> Integers:
        """Return the sum over the runs of each ledger."""
        added_up, some = np.zeros(len(self.book), dtype=np.int64), self.runs > 0
        if len(of_runs):
            added_up[some] = np.add.reduceat(of_runs, self._first[some], dtype=np.int64)
        return added_up

    def _without_smallest(self, ledgers: Booleans) -> "Ledgers":
        """Take a charge from each of these ledgers, the smallest one that it has."""
        if not ledgers.any():
            return self
        first = self._first[ledgers]
        last_ones = self.counts[first] == 1
        counts = self.counts.copy()
        counts[first] -= 1
        runs = self.runs.copy()
        runs[ledgers] -= last_ones
        gone = first[last_ones]
        return replace(
            self, runs=runs, charges=np.delete(self.charges, gone), counts=np.delete(counts, gone)
        )

    def _with(self, charge: Integers, ledgers: Booleans) -> "Ledgers":
        """Add a charge to each of these ledgers, in its place."""
        smaller = self._added_up(self.charges < np.repeat(charge, self.runs))
        place = self._first + smaller
        there = smaller < self.runs
        there[there] = self.charges[place[there]] == charge[there]
        counts = self.counts.copy()
        counts[place[ledgers & there]] += 1
        new = ledgers & ~there
        return replace(
            self,
            runs=self.runs + new,
            charges=np.insert(self.charges, place[new], charge[new]),
            counts=np.insert(counts, place[new], 1),
        )

    def _only(self, ledgers: Booleans) -> "Ledgers":
        if ledgers.all():
            return self
        runs = np.repeat(ledgers, self.runs)
        kept = self._rows(np.flatnonzero(ledgers))
        return replace(kept, charges=self.charges[runs], counts=self.counts[runs])

    def _rows(self, rows: Integers) -> "Ledgers":
        """Return these rows, with all runs as they are."""
        return replace(
            self,
            book=self.book[rows],
            start=self.start[rows],
            end=self.end[rows],
            affected=self.affected[rows],
            runs=self.runs[rows],
        )


def _ranges(first: Integers, lengths: Integers, step: int = 1) -> Integers:
    """Return the numbers first, first + step, ... of every pair, one pair after the other."""
    before = np.cumsum(lengths) - lengths
    ranges: Integers = np.repeat(first - step * before, lengths) + step * np.arange(lengths.sum())
    return ranges
