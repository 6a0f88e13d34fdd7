"""Policies as people write them, and what they hide, by the clock of `zoneinfo` and no other code.

Source: Swellfish specification, section 2 (expansion).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.privacy.policies.neighbours import Secret

HOUR = timedelta(hours=1)
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True)
class Daily:
    """Hold on some days of the week from one hour of the local clock to another one."""

    days: tuple[int, ...]
    start: int
    end: int
    first: date | None = None
    last: date | None = None
    without: tuple[date, ...] = ()

    @property
    def endless(self) -> bool:
        """Return whether there is always another one."""
        return self.last is None

    @property
    def hours(self) -> int:
        """Return for how long it lasts by the local clock."""
        return self.end - self.start if self.end > self.start else self.end + 24 - self.start

    def section(self) -> dict[str, Any]:
        """Write it as documents and records have it."""
        written: dict[str, Any] = {
            "days": [DAYS[day] for day in self.days],
            "start": f"{self.start:02d}:00",
            "end": f"{self.end:02d}:00",
        }
        if self.first is not None:
            written["from"] = self.first.isoformat()
        if self.last is not None:
            written["until"] = self.last.isoformat()
        if self.without:
            written["except"] = [day.isoformat() for day in self.without]
        return {"calendar": written}

    def spans(self, around: tuple[date, date]) -> Iterator[tuple[datetime, datetime]]:
        """Yield local starts and ends for the days `around`."""
        day = around[0]
        while day <= around[1]:
            if (
                day.weekday() in self.days
                and (self.first is None or self.first <= day)
                and (self.last is None or day <= self.last)
                and day not in self.without
            ):
                begin = datetime(day.year, day.month, day.day) + self.start * HOUR
                yield begin, begin + self.hours * HOUR
            day += timedelta(days=1)


@dataclass(frozen=True)
class Single:
    """Hold once, from one local time to another one."""

    start: datetime
    end: datetime
    endless = False

    def section(self) -> dict[str, Any]:
        """Write it as documents and records have it."""
        return {"interval": {"start": self.start.isoformat(), "end": self.end.isoformat()}}

    def spans(self, around: tuple[date, date]) -> Iterator[tuple[datetime, datetime]]:
        """Yield its start and end."""
        yield self.start, self.end


@dataclass(frozen=True)
class Wish:
    """Hide an activity of `len(amounts)` ticks, in units of the data."""

    id: str
    when: Daily | Single
    amounts: tuple[int, ...]
    activities: tuple[str, ...] = ()

    def section(self) -> dict[str, Any]:
        """Write it as documents and records have it."""
        alike = len(set(self.amounts)) == 1
        written = {
            "id": self.id,
            **self.when.section(),
            "pattern": {"ticks": len(self.amounts)},
            "theta": self.amounts[0] if alike else list(self.amounts),
        }
        return written | ({"activities": list(self.activities)} if self.activities else {})


@dataclass(frozen=True)
class Grid:
    """Hold ticks of an hour, the zone of local times, and the days that a test looks at."""

    zone: str
    begin: datetime
    before: int = 12
    after: int = 40

    @property
    def first_tick(self) -> int:
        """Return the tick that begins at `begin`."""
        return self.tick(self.begin.replace(tzinfo=UTC))

    @staticmethod
    def tick(moment: datetime) -> int:
        """Return the tick that a moment lies in."""
        return int(moment.timestamp()) // 3600

    @property
    def days(self) -> tuple[date, date]:
        """Return the first and the last day that matter."""
        day = self.begin.date()
        return day - timedelta(days=self.before), day + timedelta(days=self.after)

    def secrets(self, wish: Wish) -> list[Secret]:
        """Return what the wish hides, as far as tests look, in order of time."""
        return [
            Secret(first, last, wish.amounts[: last - first + 1], wish.activities)
            for start, end in wish.when.spans(self.days)
            for first, last in [self._ticks(start, end)]
        ]

    def _ticks(self, start: datetime, end: datetime) -> tuple[int, int]:
        """Return the ticks that a local span touches: the widest reading, where clocks change."""
        begin = min(int(moment.timestamp()) for moment in self._moments(start))
        over = max(int(moment.timestamp()) for moment in self._moments(end))
        return begin // 3600, -(-over // 3600) - 1

    def _moments(self, local: datetime) -> list[datetime]:
        return [local.replace(tzinfo=ZoneInfo(self.zone), fold=fold) for fold in (0, 1)]
