"""Compute and print what a policy document hides over a span of days, and what that takes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import pairwise

from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.sections import WEEKDAYS, AppliesTo, PolicySection, QuerySection
from fugu.operators.swellfish.attribution import Attribution, attribution
from fugu.operators.swellfish.calendar import Once
from fugu.operators.swellfish.policy import Occurrence, Policy
from fugu.operators.swellfish.relevance import Interval, Relevance


@dataclass(frozen=True)
class Hidden:
    """Name an occurrence of a policy, and whose it is."""

    collection: str
    policy: str
    occurrence: Occurrence


@dataclass(frozen=True)
class Stretch:
    """Hold ticks from `start` to `end`, both included, that ask for the same."""

    start: int
    end: int
    relevance: Relevance
    hidden: tuple[Hidden, ...]

    @property
    def affected(self) -> int:
        """Return the largest delta(J) of the open intervals; 0 without any."""
        return max((interval.affected for interval in self.relevance.intervals), default=0)

    @property
    def largest_product(self) -> int:
        """Return Delta_t times the largest delta(J), to which expected noise is proportional."""
        return self.relevance.sensitivity * self.affected


@dataclass(frozen=True)
class Course:
    """Hold all ticks that overlap `days` days."""

    document: PolicyDocument
    first_day: date
    days: int

    @property
    def last_day(self) -> date:
        """Return the last of the days."""
        return self.first_day + timedelta(self.days - 1)

    @property
    def start(self) -> int:
        """Return the first tick."""
        return self._midnight(0) // self.document.policies.tick_milliseconds

    @property
    def end(self) -> int:
        """Return the last tick."""
        return -(-self._midnight(self.days) // self.document.policies.tick_milliseconds) - 1

    @cached_property
    def hidden(self) -> tuple[Hidden, ...]:
        """Return everything that is hidden somewhere in these ticks, collection by collection."""
        return tuple(
            Hidden(collection.id, policy.id, occurrence)
            for collection in self.document.policies.collections
            for policy in collection.policies
            for occurrence in self._occurrences(policy)
        )

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """Return stretches of equal ticks, in order."""
        waiting = sorted(self.hidden, key=lambda one: -one.occurrence.start)
        open_now: list[Hidden] = []
        found: list[Stretch] = []
        for start, following in pairwise([*self._changes(), self.end + 1]):
            open_now = [one for one in open_now if one.occurrence.end >= start]
            while waiting and waiting[-1].occurrence.start <= start:
                open_now.append(waiting.pop())
            relevance = self.document.policies.relevance(start, b"")
            stretch = Stretch(start, following - 1, relevance, tuple(open_now))
            if found and (found[-1].relevance, found[-1].hidden) == (relevance, stretch.hidden):
                stretch = replace(stretch, start=found.pop().start)
            found.append(stretch)
        return tuple(found)

    @cached_property
    def attribution(self) -> Attribution:
        """Return the expected noise of these ticks, and whose it is."""
        epsilon = self.document.section.epsilon
        return attribution(self.document.policies, self.start, self.end, epsilon)

    @property
    def largest_sensitivity(self) -> int:
        """Return the largest sensitivity of these ticks, in units."""
        return max(stretch.relevance.sensitivity for stretch in self.stretches)

    @property
    def most_affected(self) -> Interval | None:
        """Return the interval with the largest delta(J), if any is open here."""
        intervals = [one for stretch in self.stretches for one in stretch.relevance.intervals]
        return max(intervals, key=lambda one: one.affected, default=None)

    @property
    def most_noise(self) -> tuple[Stretch | None, float]:
        """Return the first stretch with the most expected noise, if anything has any, and that
        noise in units."""
        loudest = max(self.stretches, key=lambda one: one.largest_product)
        noise = loudest.largest_product / self.document.section.epsilon
        return loudest if noise else None, noise

    def _changes(self) -> list[int]:
        """Return the ticks where anything begins, ends, or may change by another threshold."""
        ticks = {self.start}
        for one in self.hidden:
            ticks.update(one.occurrence.change_ticks())
        return sorted(tick for tick in ticks if self.start <= tick <= self.end)

    def _occurrences(self, policy: Policy) -> Iterator[Occurrence]:
        for occurrence in policy.occurrences(self.start, self.document.policies.tick_milliseconds):
            if occurrence.start > self.end:
                return
            yield occurrence

    def _midnight(self, day: int) -> int:
        moment = datetime.combine(self.first_day + timedelta(day), time(), self.document.zone)
        return int(moment.timestamp()) * 1000


def first_day(document: PolicyDocument) -> date:
    """Return the day of the first occurrence; without one the origin's, or the first day of all."""
    begins = [
        next(policy.occurrences(0, document.policies.tick_milliseconds), None)
        for collection in document.policies.collections
        for policy in collection.policies
        if isinstance(policy.when, Once) or policy.when.first_day is not None
    ]
    starts = [occurrence.start for occurrence in begins if occurrence is not None]
    if starts:
        return document.begin(min(starts)).date()
    origin = document.section.grid.origin or datetime(1970, 1, 1, tzinfo=UTC)
    return origin.astimezone(document.zone).date()


_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000


OF_STRATEGIES = (
    "unicorn_ps has at most that; unicorn decides with half of epsilon, and has at most twice that"
)


def amount(units: int, query: QuerySection) -> Decimal:
    """Write an amount in units as a number of the query's unit."""
    return (units * query.resolution).normalize()


def in_unit(units: int, query: QuerySection) -> str:
    """Write an amount in units as text, with the query's unit."""
    return f"{amount(units, query):f} {query.unit or ''}".rstrip()


def about(units: float, query: QuerySection) -> str:
    """Write an expected amount in units as text of three digits, with the query's unit."""
    return measured(units * float(query.resolution), query)


def measured(number: float, query: QuerySection) -> str:
    """Write a number of the query's unit as text of three digits, with the unit."""
    digits = f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
    return f"{digits} {query.unit or ''}".rstrip()


def duration(milliseconds: int) -> str:
    """Write a duration in the largest unit of which it is a whole number.

    >>> duration(600_000), duration(7_200_000), duration(86_400_000), duration(1_500)
    ('10 minutes', '2 hours', '1 day', '1.5 seconds')
    """
    for unit, name in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        if milliseconds % unit == 0:
            return counted(milliseconds // unit, name)
    return "1 second" if milliseconds == 1000 else f"{milliseconds / 1000:g} seconds"


def moment(tick: int | None, document: PolicyDocument) -> str | None:
    """Say when a tick begins, by the clock of the grid's zone; its number where calendars end."""
    if tick is None:
        return None
    try:
        return f"{document.begin(tick):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return f"tick {tick}"


def counted(number: int, what: str) -> str:
    """Write a count with its noun, in the plural where it is not 1."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def whose(applies_to: AppliesTo) -> str:
    """Say whose policies a collection holds."""
    return "everybody else" if applies_to.default else counted(len(applies_to.keys or []), "key")


def when(policy: PolicySection) -> list[str]:
    """Say when a policy holds: hours, and what limits them."""
    if policy.calendar is None:
        assert policy.interval is not None
        start, end = policy.interval.start, policy.interval.end
        return [f"from {start:%Y-%m-%d %H:%M}", f"to {end:%Y-%m-%d %H:%M}"]
    calendar = policy.calendar
    hours = f"{days(calendar.days)} {calendar.start:%H:%M}–{calendar.end:%H:%M}"
    limits = [
        f"from {calendar.from_}" if calendar.from_ else "",
        f"until {calendar.until}" if calendar.until else "",
        f"except {counted(len(calendar.except_), 'day')}" if calendar.except_ else "",
    ]
    return [hours, *filter(None, limits)]


def days(written: Sequence[str]) -> str:
    """Write days of the week, as a range where they are one.

    >>> days(["mon", "tue", "wed"]), days(["mon", "sun", "sat"]), days(["tue", "sun"])
    ('mon–wed', 'sat–mon', 'tue, sun')
    """
    chosen = [day for day in WEEKDAYS if day in written]
    if len(chosen) == len(WEEKDAYS):
        return "daily"
    if len(chosen) > 2:
        for first in range(len(WEEKDAYS)):
            run = [WEEKDAYS[(first + more) % 7] for more in range(len(chosen))]
            if set(run) == set(chosen):
                return f"{run[0]}–{run[-1]}"
    return ", ".join(chosen)
