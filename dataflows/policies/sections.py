"""Define the sections of a policy document as typed, strict models."""

import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from fugu.dataflows.base.section import Epsilon, Exact, Section
from fugu.dataflows.base.ticks import MILLISECOND, whole_milliseconds
from fugu.dataflows.policies.fields import (
    Amount,
    Day,
    Identifier,
    Moment,
    Owners,
    SecretPairs,
    SecretValues,
    Thresholds,
    TimeOfDay,
)
from fugu.operators.wevent.allocation import LARGEST_EPSILON

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS = get_args(Weekday)
Duration = Annotated[timedelta, BeforeValidator(whole_milliseconds("1ms", "366d"))]

_EPOCH = datetime.fromisoformat("1970-01-01T00:00Z")
_UNIT = re.compile(r"^[^\s\d.\[\]][^\[\]]*$")
_LARGEST_UNITS = 2**32
_LARGEST_SET = 63
"""A set of activities is a number of 64 bits with a sign."""
MOST_TICKS = 1_000_000
"""The most ticks of an interval, and of a pattern in it."""
MOST_POLICIES = 10_000
"""The most policies that a collection may be allowed to have."""


Name = Annotated[str, StringConstraints(min_length=1, max_length=249)]
Names = Annotated[list[Name], Field(min_length=1, fail_fast=True)]


class GridSection(Section):
    """Declare ticks, counted from 1970-01-01 00:00 UTC, and the zone of local times."""

    tick: Duration
    zone: str
    origin: Moment | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.origin is None:
            return self
        if self.origin.tzinfo is None:
            raise ValueError('origin: write its zone too, such as "2024-01-01T00:00:00Z"')
        beyond = (self.origin - _EPOCH) % self.tick
        if beyond:
            nearest = (self.origin - beyond).astimezone(_EPOCH.tzinfo).isoformat()
            raise ValueError(
                "origin: ticks are counted from 1970-01-01 00:00 UTC, and none begins here; delete "
                f"it, or write {nearest}"
            )
        return self

    @property
    def milliseconds(self) -> int:
        """Return the length of a tick in milliseconds."""
        return self.tick // MILLISECOND


class QuerySection(Section):
    """Say what is published of a tick.

    In a sum, one individual adds from `lower` to `cap`, in whole multiples of `resolution`.
    """

    kind: Literal["sum", "count", "histogram", "multi_histogram"]
    unit: str | None = None
    lower: Exact = Decimal(0)
    cap: Exact | None = None
    resolution: Exact = Decimal(1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.kind != "sum":
            for name in ("unit", "lower", "cap", "resolution"):
                if name in self.model_fields_set:
                    raise ValueError(f"{name}: {self.kind} does not have it; delete it")
            return self
        if self.unit is not None and not _UNIT.match(self.unit):
            raise ValueError("unit: must begin with neither digit nor blank, and have no brackets")
        if self.cap is None:
            raise ValueError("cap: a sum needs it: the most that one individual adds to a tick")
        if self.resolution <= 0 or Fraction(1) % Fraction(self.resolution) != 0:
            raise ValueError(
                "resolution: must be 1 divided by a whole number, such as 1, 0.5, 0.1 or 0.01"
            )
        for name, bound in (("lower", self.lower), ("cap", self.cap)):
            if self._exactly(bound).denominator != 1:
                raise ValueError(f"{name}: must be a whole number of resolution")
            if abs(self._exactly(bound)) > _LARGEST_UNITS:
                raise ValueError(f"{name}: must be at most 2^32 times resolution")
        if self.lower >= self.cap:
            raise ValueError("lower: must be below cap")
        return self

    def _exactly(self, number: Decimal | Fraction) -> Fraction:
        return Fraction(number) / Fraction(self.resolution)

    def in_units(self, number: Decimal | Fraction) -> int:
        """Convert to whole units, rounded up."""
        return -int(-self._exactly(number) // 1)

    @property
    def units_per_one(self) -> int:
        """Return how many units make 1."""
        return int(1 / Fraction(self.resolution))

    @property
    def lower_units(self) -> int:
        """Return the least that one individual adds to a sum."""
        return self.in_units(self.lower)

    @property
    def upper_units(self) -> int:
        """Return the most that one individual adds to a sum."""
        assert self.cap is not None
        return self.in_units(self.cap)

    @property
    def largest_units(self) -> int:
        """Return the largest amount of one individual, whatever its sign; 1 in a count."""
        return 1 if self.cap is None else max(abs(self.lower_units), abs(self.upper_units))

    @property
    def range_in_units(self) -> int:
        """Return by how much an individual can change a sum; without a record that is 0."""
        return max(self.upper_units, 0) - min(self.lower_units, 0)


class CalendarSection(Section):
    """Name the same hours on many days, by the clock of the grid's zone."""

    days: Annotated[list[Weekday], Field(min_length=1, fail_fast=True)]
    start: TimeOfDay
    end: TimeOfDay
    from_: Day | None = Field(default=None, alias="from")
    until: Day | None = None
    except_: list[Day] = Field(default=[], alias="except", fail_fast=True)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.from_ is not None and self.until is not None and self.until < self.from_:
            raise ValueError("until: is before from")
        return self

    def holds_on(self, day: date) -> bool:
        """Return whether an interval starts on this day."""
        begun = self.from_ is None or self.from_ <= day
        over = self.until is not None and self.until < day
        return (
            begun and not over and WEEKDAYS[day.weekday()] in self.days and day not in self.except_
        )


class IntervalSection(Section):
    """Name one interval, from one moment to another; without a zone by the clock of the grid."""

    start: Moment
    end: Moment


class PatternSection(Section):
    """Say how long an activity lasts, in time or in ticks."""

    duration: Duration | None = None
    aligned: bool = False
    ticks: int | None = Field(default=None, ge=1, le=MOST_TICKS)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.duration is None) == (self.ticks is None):
            raise ValueError("write either duration: PT10M or ticks: 2")
        if self.ticks is not None and "aligned" in self.model_fields_set:
            raise ValueError("aligned: is about a duration; delete it")
        return self


class PolicySection(Section):
    """Say what to hide, and when.

    In the ticks of `pattern`, changes up to `theta`, or which value of a secret pair there was.
    """

    id: Identifier
    activities: Names | None = None
    calendar: CalendarSection | None = None
    interval: IntervalSection | None = None
    pattern: PatternSection
    theta: Thresholds | None = None
    between: SecretValues | None = None
    pairs: SecretPairs | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if [self.theta, self.between, self.pairs].count(None) != 2:
            raise ValueError("write theta: or between: or pairs:, and only one of them")
        if (self.calendar is None) == (self.interval is None):
            raise ValueError("write either calendar: or interval:")
        return self


class AppliesTo(Section):
    """Say whose policies these are: those of some keys, or of everybody who is not named."""

    default: Literal[True] | None = None
    keys: Annotated[list[str], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.default is None) == (self.keys is None):
            raise ValueError("write either {default: true} or {keys: [...]}")
        return self


class LimitsSection(Section):
    """Limit what changes may make of a collection.

    `noise` is the most that it may cause at any tick, `added` the most that one change may add to
    that; `interval` is as long as an interval may be, by local clocks.
    """

    noise: Amount | None = None
    added: Amount | None = None
    interval: Duration | None = None
    policies: int | None = Field(default=None, ge=0, le=MOST_POLICIES)


class CollectionSection(Section):
    """Hold the policies of the same people, and who owns them beside the owners of all."""

    id: Identifier
    applies_to: AppliesTo
    owners: Owners | None = None
    limits: LimitsSection | None = None
    policies: list[PolicySection]


def _refuse(_: object) -> object:
    raise ValueError(
        "unsupported: constraints. Under them a change of one person may mean changes of others, "
        "which noise for one person does not hide; delete the key"
    )


class DocumentSection(Section):
    """Hold a policy document.

    What a change takes away is protected for the time of `notice` as before; where none is
    declared, for that of the longest interval. `limits` are those of every collection that has none
    of its own.
    """

    version: Literal[1]
    grid: GridSection
    query: QuerySection
    epsilon: Annotated[Epsilon, Field(le=LARGEST_EPSILON)]
    activities: Names | None = None
    owners: Owners | None = None
    notice: Duration | None = None
    limits: LimitsSection | None = None
    collections: Annotated[list[CollectionSection], Field(min_length=1)]
    constraints: Annotated[Any, BeforeValidator(_refuse)] = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        activities = self.activities or []
        if len(set(activities)) < len(activities):
            raise ValueError("activities: name every one once")
        if self.query.kind == "multi_histogram" and not activities:
            raise ValueError("activities: multi_histogram counts them; list all")
        if self.query.kind == "multi_histogram" and len(activities) > _LARGEST_SET:
            raise ValueError(
                f"activities: multi_histogram takes at most {_LARGEST_SET}; merge some"
            )
        return self
