"""Bound what policies ask of one tick: its sensitivity, and its open relevance intervals.

Policies may name secret pairs: two values of an activity that nobody is to tell apart.

A value is what an activity adds to a tick: a number, a place, or a set of places. An occurrence of
a policy with the pairs P changes a stream so: within its interval, in up to T ticks in a row, one
value of a pair stands where the other one stood. What else the person does stays as it is.

Claim. theta, the largest distance of a pair, covers P: whatever is promised of a policy with the
threshold theta in each of its T ticks is promised of one with P. For each tick changes by the
distance of a pair, which is theta at most; so these streams are among the neighbours of that policy
(Swellfish specification, section 1.1), and a promise about more neighbours is a promise about some.
More than P is hidden: also what lies between two values, as where an activity takes half of a tick.

Claim. Two values that are no pair are told apart by ceil(d / theta) epsilon at most, where d is
their distance. For numbers and sets, one step after the other changes the value by theta or less,
and so many steps lead from the one to the other; each stays in the interval, and takes each
occurrence once, so that it costs epsilon. Values that a chain of n pairs links are at most n theta
apart: they cost n epsilon or less, and not epsilon. Places are all one step apart.

>>> power = between([Fraction(0), Fraction(22, 10), Fraction(6)])
>>> len(power), threshold(power)
(3, Fraction(6, 1))
>>> chain = [(Fraction(0), Fraction(22, 10)), (Fraction(22, 10), Fraction(6))]
>>> threshold(chain), steps(chain)
(Fraction(19, 5), 2)
>>> threshold(between(["home", "gym", "work"])), steps([("home", "gym"), ("gym", "work")])
(Fraction(1, 1), 1)

Source: Swellfish paper, definitions 3.1 and 3.2 (pairs of patterns, with C empty); Swellfish
specification, section 1.1. Blowfish takes a graph of values instead of pairs, and counts its edges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil
from typing import Literal, Protocol, get_args

import numpy as np

from fugu.operators.mechanism import Integers, Kind


@dataclass(frozen=True, order=True)
class Interval:
    """State a relevance interval J, from tick `start` to `end`, and delta(J).

    No more than `affected` of its ticks differ between neighbours, whichever collection of policies
    a person has.
    """

    start: int
    end: int
    affected: int


@dataclass(frozen=True)
class Relevance:
    """State what policies ask of one tick.

    `sensitivity`: by how many units (L1) the statistic of the tick differs between neighbours, at
    most, whoever it is; 0 where nothing can change. `intervals`: the distinct ones that are open at
    the tick, in order; none: nothing is relevant.
    """

    sensitivity: int
    intervals: tuple[Interval, ...]

    @cached_property
    def spans(self) -> Integers:
        """Return the intervals as rows of start, end and delta(J)."""
        rows = [(one.start, one.end, one.affected) for one in self.intervals]
        return np.array(rows, dtype=np.int64).reshape(-1, 3)


class Timeline(Protocol):
    """Tell what policies ask of every tick; all of it is public, and no function of private data.

    It begins as it is configured, and changes with the policies that people add and remove while a
    stream runs; `changes` are all of these so far, as bytes that are part of the state of a stream.
    Source: Swellfish specification, sections 2 to 4.
    """

    @property
    def tick_milliseconds(self) -> int:
        """Return how long a tick is; tick 0 begins at 1970-01-01 00:00 UTC."""
        ...

    @property
    def largest_sensitivity(self) -> int:
        """Return by how many units a whole contribution can change the statistic of a tick."""
        ...

    @property
    def longest(self) -> int:
        """Return how many ticks a relevance interval of the configured policies has, at most."""
        ...

    def relevance(self, tick: int, changes: bytes) -> Relevance:
        """Return what is asked of a tick, after these changes.

        What is asked about an interval that is open already (`affected`) may be more than when it
        began, and then the earlier number counts.
        """
        ...

    def told(self, changes: bytes, change: bytes, now: int) -> bytes:
        """Add a change, of which the ticks before `now` know nothing; one that is refused adds
        nothing that is asked for."""
        ...

    def explained(self, changes: bytes, change: bytes, now: int) -> str:
        """Tell what becomes of one more change, in words."""
        ...

    def digest(self) -> bytes:
        """Identify the configured policies, in 32 bytes."""
        ...


class Status(IntEnum):
    """Say what became of a tick."""

    SAMPLED = 0
    """The true vector with noise, charged to all open intervals."""
    REPEATED = 1
    """The last release again."""
    EXACT = 2
    """Nothing is relevant, or nothing can change: the true vector, which costs nothing."""
    NOISY = 3
    """The same, but with noise for a whole contribution."""
    NOTHING = 4
    """There is no last release: zeros, and the kind is `SUPPRESSED`."""


KINDS = np.array(
    [Kind.FRESH, Kind.REPEATED, Kind.FRESH, Kind.FRESH, Kind.SUPPRESSED], dtype=np.int64
)
"""The kind of a release, by its status."""

QueryKind = Literal["sum", "count", "histogram", "multi_histogram"]
_FIXED = {"count": 1, "histogram": 2}


@dataclass(frozen=True)
class Query:
    """Bound how far the statistic of a tick can move, given what each relevant policy allows.

    - `sum` (L1): changes of overlapping occurrences add up, to `largest_change` at most.
    - `count` of people who satisfy a predicate: 1 if anything can change at all.
    - `histogram`, each person in exactly one bin: 2, since a place is left and another one entered.
    - `multi_histogram`, each person in any number of bins, one per activity: thresholds count bins;
      no more change than there are activities that the relevant policies are about.

    Parameters: `largest_change`, by how many units (L1) a person can change the statistic at most,
    whatever policies say; `activities`, the bins of a `multi_histogram`, and only of it. Raises
    `ValueError` naming the field.

    >>> Query("sum", 2757).sensitivity([220, 100]), Query("sum", 300).sensitivity([220, 100])
    (320, 300)
    >>> Query("count", 1).sensitivity([3, 1]), Query("histogram", 2).sensitivity([0, 0])
    (1, 0)
    >>> rooms = Query("multi_histogram", 4, ("bath", "bed", "hall", "sauna"))
    >>> rooms.sensitivity([2, 2], [("bath", "sauna"), ("sauna",)]), rooms.sensitivity([9], [()])
    (2, 4)

    Source: Swellfish specification, section 3.
    """

    kind: QueryKind
    largest_change: int
    activities: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in get_args(QueryKind):
            raise ValueError(f"kind: must be one of {', '.join(get_args(QueryKind))}")
        if (self.kind == "multi_histogram") != bool(self.activities):
            raise ValueError("activities: must be those of a multi_histogram, and of nothing else")
        if len(set(self.activities)) < len(self.activities):
            raise ValueError("activities: must be named once each")
        if self.largest_change < 1:
            raise ValueError("largest_change: must be at least 1 unit")
        if self.largest_change != _FIXED.get(self.kind, self.largest_change):
            raise ValueError(f"largest_change: must be {_FIXED[self.kind]} for a {self.kind}")
        if self.activities and self.largest_change > len(self.activities):
            raise ValueError("largest_change: must be at most the number of activities")

    def sensitivity(
        self, changes: Sequence[int], activities: Sequence[tuple[str, ...]] | None = None
    ) -> int:
        """Return Delta_t for one person, in units.

        `changes` are c_phi(t) of every occurrence that is relevant in the tick, and `activities`
        those that it is about; without names: any.
        """
        if self.kind in _FIXED:
            return _FIXED[self.kind] if any(changes) else 0
        most = self.largest_change
        if self.kind == "multi_histogram" and activities is not None:
            most = min(most, self._touched(changes, activities))
        return min(sum(changes), most)

    def at_most(self, changes: Integers) -> Integers:
        """Bound Delta_t from above, where changes of occurrences add up to these."""
        if self.kind in _FIXED:
            return np.where(changes > 0, _FIXED[self.kind], 0)
        return np.minimum(changes, self.largest_change)

    def _touched(self, changes: Sequence[int], activities: Sequence[tuple[str, ...]]) -> int:
        """Count the activities of occurrences that can change anything."""
        touched = {
            activity
            for change, about in zip(changes, activities, strict=True)
            if change > 0
            for activity in about or self.activities
        }
        return len(touched)


Value = Fraction | str | frozenset[str]
Pair = tuple[Value, Value]


def between(values: Sequence[Value]) -> list[Pair]:
    """Return all pairs of the values: nobody is to tell which of them it was."""
    return list(combinations(values, 2))


def distance(one: Value, other: Value) -> Fraction:
    """Return how far a statistic moves if one value takes the place of the other.

    A change of place counts as 1, as `Query` has it, which knows that it moves two bins.
    """
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return abs(one - other)
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return Fraction(len(one ^ other))
    return Fraction(one != other)


def threshold(pairs: Sequence[Pair]) -> Fraction:
    """Return theta, the largest distance of a pair."""
    return max(distance(*pair) for pair in pairs)


def flipped(pairs: Sequence[Pair]) -> frozenset[str]:
    """Return the names in which two sets of the pairs differ, whether they are a pair or not.

    The steps from one to the other go through these names, so that a policy has to be about all.
    """
    sets = [value for pair in pairs for value in pair if isinstance(value, frozenset)]
    return frozenset().union(*sets) - (frozenset.intersection(*sets) if sets else frozenset())


def steps(pairs: Sequence[Pair]) -> int:
    """Return by how many epsilon two values of the pairs are told apart, at most: 1 for pairs."""
    values = {value for pair in pairs for value in pair}
    return ceil(threshold(between(list(values))) / threshold(pairs))
