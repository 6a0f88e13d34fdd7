"""Sensitivity and open relevance intervals of one tick: all that strategies see of policies."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from fugu.operators.mechanism import Integers


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
