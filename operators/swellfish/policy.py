"""A policy: what is to be hidden, and when, again and again; and the policies of one person.

Every interval of its calendar is an occurrence of its own. An interval may have fewer ticks than
the policy is long, be it because clocks are put forward. A pattern that fills it and goes on
outside then shows it any run of its ticks; so each tick may change by the largest threshold that it
has in any such run. Whatever part of the pattern falls into the interval is hidden, and a single
threshold just stays what it is.

>>> cut_to(2, (1, 5, 2)), cut_to(2, (7, 7, 7)), cut_to(4, (1, 5, 2))
((5, 5), (7, 7), (1, 5, 2))
>>> from datetime import datetime
>>> from fugu.operators.swellfish.calendar import Once
>>> from fugu.operators.swellfish.zone import Zone
>>> night = Once(Zone("UTC", ((0, 0),)), datetime(1970, 1, 1, 22), datetime(1970, 1, 2, 2))
>>> sauna = Policy("sauna", night, length=2, thresholds=(60,), activities=("sauna",))
>>> list(sauna.occurrences(0, 3_600_000))
[Occurrence(start=22, end=25, thresholds=(60, 60))]
>>> Policy.from_data(sauna.to_data()) == sauna
True

Source: Swellfish specification, sections 1 and 2.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fugu.operators.swellfish.calendar import When, when_from_data
from fugu.operators.swellfish.occurrence import Occurrence
from fugu.operators.swellfish.plain_data import integer, items, members, named, text


@dataclass(frozen=True)
class Policy:
    """`length`: T, in ticks, however short an interval is; `thresholds` in units, one for all of
    them or one for each; `activities`: what it is about, nothing: any.

    Raises `ValueError` naming the field.
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
        """All that end at `tick` or later, in order of their starts; lazily, for ever if it must
        be."""
        for start, end in self.when.intervals(tick, tick_milliseconds):
            yield Occurrence(start, end, self._thresholds(end - start + 1))

    def _thresholds(self, ticks: int) -> tuple[int, ...]:
        if len(self.thresholds) == 1:
            return _repeated(self.thresholds[0], min(self.length, ticks))
        return cut_to(ticks, self.thresholds)

    def to_data(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "id": self.id,
            "when": self.when.to_data(),
            "length": self.length,
            "thresholds": list(self.thresholds),
            "activities": list(self.activities),
        }

    @staticmethod
    def from_data(data: object) -> "Policy":
        """Raises `ValueError` naming the policy, if it has an id, and the field."""
        with named("policy", data):
            given = members(data, "id", "when", "length", "thresholds", "activities")
            thresholds = items("thresholds", given["thresholds"])
            activities = items("activities", given["activities"])
            return Policy(
                text("id", given["id"]),
                when_from_data(given["when"]),
                integer("length", given["length"]),
                tuple(integer("thresholds", threshold) for threshold in thresholds),
                tuple(text("activities", activity) for activity in activities),
            )


@dataclass(frozen=True)
class Collection:
    """Phi_i: all policies of a person, or of all who have the same ones."""

    id: str
    policies: tuple[Policy, ...]

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("id: must not be empty")
        if len({policy.id for policy in self.policies}) < len(self.policies):
            raise ValueError(f"collection {self.id}: policies: every id must be there once")

    def to_data(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {"id": self.id, "policies": [policy.to_data() for policy in self.policies]}

    @staticmethod
    def from_data(data: object) -> "Collection":
        """Raises `ValueError` naming the collection, the policy and the field."""
        with named("collection", data):
            given = members(data, "id", "policies")
            policies = items("policies", given["policies"])
            return Collection(
                text("id", given["id"]), tuple(Policy.from_data(policy) for policy in policies)
            )


@lru_cache(maxsize=1024)
def _repeated(threshold: int, ticks: int) -> tuple[int, ...]:
    """The same object for all occurrences that have it: it may be long."""
    return (threshold,) * ticks


@lru_cache(maxsize=1024)
def cut_to(ticks: int, thresholds: tuple[int, ...]) -> tuple[int, ...]:
    """The largest of every run of so many thresholds, tick by tick."""
    runs = max(1, len(thresholds) - ticks + 1)
    length = min(ticks, len(thresholds))
    return tuple(max(thresholds[place : place + runs]) for place in range(length))
