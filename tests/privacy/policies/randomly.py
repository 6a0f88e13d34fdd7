"""Random policies and changes of them, near a tick, short enough to try all neighbours of."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random

from tests.privacy.policies.life import Life
from tests.privacy.policies.questions import Question
from tests.privacy.policies.wishes import Daily, Grid, Single, Wish

LATEST = int(datetime(2099, 12, 30, tzinfo=UTC).timestamp()) // 3600
NAMES = ("tea", "shower", "trip")


@dataclass(frozen=True)
class Wisher:
    """Make wishes up."""

    random: Random
    grid: Grid
    question: Question

    def wish(self, name: str, now: int) -> Wish:
        """Return one for some hours around a tick, or for every day."""
        hours = self.random.randrange(2, 7)
        begin = self._local(now + self.random.randrange(-8, 40))
        when: Daily | Single
        if self.random.random() < 0.5:
            when = Single(begin, begin + timedelta(hours=hours))
        else:
            when = self._daily(begin, hours)
        return Wish(name, when, self._amounts(hours - 1), self._activities())

    def _daily(self, begin: datetime, hours: int) -> Daily:
        random, day = self.random, begin.date()
        days = tuple(sorted(random.sample(range(7), random.choice([7, 7, 5, 3]))))
        first, last = day + timedelta(days=1), day + timedelta(days=3)
        return Daily(
            days,
            begin.hour,
            (begin.hour + hours) % 24,
            first if random.random() < 0.2 else None,
            last if random.random() < 0.2 else None,
            (first,) if random.random() < 0.2 else (),
        )

    def _activities(self) -> tuple[str, ...]:
        known = self.question.activities
        return tuple(self.random.sample(known, self.random.randrange(len(known) + 1)))

    def _amounts(self, ticks: int) -> tuple[int, ...]:
        largest = self.question.largest
        length = self.random.randrange(1, min(3, ticks) + 1)
        if self.random.random() < 0.5:
            return (self.random.choice([0, 1, largest, largest]),) * length
        return tuple(self.random.randrange(largest + 1) for _ in range(length))

    def like(self, wish: Wish) -> Wish:
        """Return the same wish, or one that hides a little more, or a little less."""
        random, amounts = self.random, wish.amounts
        match random.randrange(7):
            case 0:
                return wish
            case 1:
                return replace(
                    wish, amounts=tuple(min(self.question.largest, one + 1) for one in amounts)
                )
            case 2:
                return replace(wish, amounts=tuple(max(0, one - 1) for one in amounts))
            case 3:
                return replace(wish, amounts=(0,) * len(amounts))
            case 4:
                return replace(wish, when=self._moved(wish.when, len(amounts), wider=True))
            case 5:
                return replace(wish, activities=self._activities())
            case _:
                return replace(wish, when=self._moved(wish.when, len(amounts), wider=False))

    def _moved(self, when: Daily | Single, ticks: int, *, wider: bool) -> Daily | Single:
        if isinstance(when, Single):
            hour = timedelta(hours=1 if wider else -1)
            fits = when.end + hour - when.start > ticks * abs(hour)
            return replace(when, end=when.end + hour) if fits else when
        if wider:
            return replace(when, days=tuple(range(7)), without=(), first=None)
        end = (when.start + max(ticks + 1, when.hours - 1)) % 24
        return replace(when, days=when.days[1:] or when.days, end=end)

    def change(self, life: Life, now: int) -> tuple[str, Wish | None, int]:
        """Return an id, what is to be there (None: nothing), and from which tick on."""
        random = self.random
        name = random.choice(NAMES)
        there = [one.wish for one in life.versions if one.wish.id == name]
        soon = [now + ahead for ahead in (-5, 0, 0, 1, 2, 5, 11, 30)]
        effective = random.choice([0, *soon, now + 10**5, LATEST])
        if random.random() < 0.3:
            return name, None, effective
        if there and random.random() < 0.6:
            return name, self.like(there[-1]), effective
        return name, self.wish(name, now), effective

    def _local(self, tick: int) -> datetime:
        return datetime(1970, 1, 1) + timedelta(hours=tick)
