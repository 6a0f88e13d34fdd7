"""A policy: what is to be hidden, and when; and the collection of policies of one person."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from fugu.operators.swellfish.calendar import When
from fugu.operators.swellfish.limits import UNDECLARED, Limits
from fugu.operators.swellfish.occurrence import Occurrence
from fugu.operators.swellfish.plain_data import PlainData


@dataclass(frozen=True)
class Policy(PlainData):
    """Hide something, again and again: every interval of its calendar is an occurrence of its own.

    Parameters: `length`, T, in ticks, however short an interval is; `thresholds` in units, one for
    all of them or one for each; `activities`, what it is about, nothing: any. Raises `ValueError`
    naming the field.

    >>> from datetime import datetime
    >>> from fugu.operators.swellfish.calendar import Once
    >>> from fugu.operators.swellfish.zone import Zone
    >>> night = Once(Zone("UTC", ((0, 0),)), datetime(1970, 1, 1, 22), datetime(1970, 1, 2, 2))
    >>> sauna = Policy("sauna", night, length=2, thresholds=(60,), activities=("sauna",))
    >>> list(sauna.occurrences(0, tick_milliseconds=3_600_000))
    [Occurrence(start=22, end=25, thresholds=(60, 60))]
    >>> Policy.from_data(sauna.to_data()) == sauna
    True

    Source: Swellfish specification, sections 1 and 2.
    """

    id: str
    when: When
    length: int
    thresholds: tuple[int, ...]
    activities: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("id: must not be empty")
        if self.length < 1:
            raise ValueError("length: must be at least 1 tick")
        if len(self.thresholds) not in (1, self.length):
            raise ValueError(
                f"thresholds: must be one, or one for each of {self.length} ticks, "
                f"not {len(self.thresholds)}"
            )
        if min(self.thresholds) < 0:
            raise ValueError("thresholds: must not be negative")
        if len(set(self.activities)) < len(self.activities) or not all(self.activities):
            raise ValueError("activities: must be named, and each once")

    def occurrences(self, tick: int, tick_milliseconds: int) -> Iterator[Occurrence]:
        """Yield all that end at `tick` or later, in order of their starts; perhaps for ever."""
        for start, end in self.when.intervals(tick, tick_milliseconds):
            yield self.occurrence(start, end)

    def occurrence(self, start: int, end: int) -> Occurrence:
        """Return the occurrence with this interval."""
        return Occurrence(start, end, self.thresholds_in(end - start + 1))

    def thresholds_in(self, ticks: int) -> tuple[int, ...]:
        """Return the thresholds of an occurrence whose interval has so many ticks."""
        if len(self.thresholds) == 1:
            return _repeated(self.thresholds[0], min(self.length, ticks))
        return cut_to(ticks, self.thresholds)


@dataclass(frozen=True)
class Collection:
    """Collect all policies of a person, or of all who have the same ones: Phi_i.

    What is `owned` is made smaller by its owners only. `limits` are its own, beyond those of all.
    Raises `ValueError` naming the field.
    """

    id: str
    policies: tuple[Policy, ...]
    owned: bool = False
    limits: Limits = UNDECLARED

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("id: must not be empty")
        if len({policy.id for policy in self.policies}) < len(self.policies):
            raise ValueError(f"collection {self.id}: policies: every id must be there once")


@lru_cache(maxsize=1024)
def _repeated(threshold: int, ticks: int) -> tuple[int, ...]:
    """Return the same object for all occurrences that have it: it may be long."""
    return (threshold,) * ticks


@lru_cache(maxsize=1024)
def cut_to(ticks: int, thresholds: tuple[int, ...]) -> tuple[int, ...]:
    """Return the largest of every run of so many thresholds, tick by tick.

    An interval may have fewer ticks than the policy is long, be it because clocks are put forward.
    A pattern that fills it and goes on outside then shows it any run of its ticks; so each tick may
    change by the largest threshold that it has in any such run. Whatever part of the pattern falls
    into the interval is hidden, and a single threshold just stays what it is.

    >>> cut_to(2, (1, 5, 2)), cut_to(2, (7, 7, 7)), cut_to(4, (1, 5, 2))
    ((5, 5), (7, 7), (1, 5, 2))
    """
    runs = max(1, len(thresholds) - ticks + 1)
    length = min(ticks, len(thresholds))
    return tuple(max(thresholds[place : place + runs]) for place in range(length))
