"""Define policies: what is to be hidden, when, and how much of it; and their occurrences."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import accumulate

from fugu.operators.swellfish.calendar import PlainData, When

LONGEST_INTERVAL = 2**20
"""Ticks, where nothing is declared."""


@dataclass(frozen=True)
class Limits:
    """Limit what one collection may ask for after a change.

    `demand` is the most that it may ask of any tick, delta(J) Delta_t in units, which divided by
    epsilon is the scale of the noise; `added`, the most that one change may add to that;
    `interval`, the most ticks of an interval, and `policies` how many may count at once. Where
    nothing is declared, nothing is limited but intervals. Raises `ValueError` naming the field.
    """

    demand: int | None = None
    added: int | None = None
    interval: int | None = None
    policies: int | None = None

    def __post_init__(self) -> None:
        for limit in fields(self):
            if (getattr(self, limit.name) or 0) < 0:
                raise ValueError(f"{limit.name}: must not be negative")

    @property
    def longest(self) -> int:
        """Return how many ticks an interval that is added has, at most."""
        return LONGEST_INTERVAL if self.interval is None else self.interval

    def for_strangers(self) -> "Limits":
        """Return what strangers may fill where there are owners: half, so that these have room."""
        demand = None if self.demand is None else self.demand // 2
        return replace(self, demand=demand, policies=self.policies and self.policies // 2)

    def completed_by(self, others: "Limits") -> "Limits":
        """Return these limits, and the others where nothing is declared."""
        declared = {name: limit for name, limit in vars(self).items() if limit is not None}
        return replace(others, **declared)


UNDECLARED = Limits()


@dataclass(frozen=True)
class Noise:
    """Write demands as noise in the unit of the data: so much noise for a demand of 1."""

    of_one: float = 1.0
    unit: str = ""

    def of(self, demand: int) -> str:
        """Write the scale of the noise.

        >>> Noise(0.01, "kW").of(25_000)
        '250 kW'
        """
        return f"{demand * self.of_one:.4g} {self.unit}".rstrip()


IN_UNITS = Noise()


@dataclass(frozen=True, order=True)
class Occurrence:
    """Hide that some ticks in a row were other than they were, anywhere within [start, end].

    Within the ticks `start` to `end`, both included, an adversary must not be able to tell whether
    up to `len(thresholds)` ticks in a row, anywhere inside, were other than they were: the first of
    them by up to `thresholds[0]` units, the second by up to `thresholds[1]`, and so on. Every day
    of a calendar rule is an occurrence of its own. The paper writes phi = (theta, T, J), with
    J = [start, end] in ticks and theta in units. Raises `ValueError` naming the field.

    >>> rising = Occurrence(start=0, end=3, thresholds=(1, 5))
    >>> rising.ticks, [rising.change_at(tick) for tick in range(-1, 5)]
    (4, [0, 1, 5, 5, 5, 0])

    Source: Swellfish specification, sections 1 and 3.
    """

    start: int
    end: int
    thresholds: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError(f"end: must not be before start, which is tick {self.start}")
        if not 1 <= len(self.thresholds) <= self.ticks:
            raise ValueError(
                f"thresholds: must be of 1 to {self.ticks} ticks, as many as the interval has"
            )
        if min(self.thresholds) < 0:
            raise ValueError("thresholds: must not be negative")

    @property
    def ticks(self) -> int:
        """Return |J|, how many ticks the interval has."""
        return self.end - self.start + 1

    @property
    def length(self) -> int:
        """Return T, how many ticks in a row may be other than they were."""
        return len(self.thresholds)

    def change_at(self, tick: int) -> int:
        """Return c_phi(t): by how many units it may change this tick, at most; 0 outside."""
        if not self.start <= tick <= self.end:
            return 0
        first = max(1, self.length - (self.end - tick))
        last = min(self.length, tick - self.start + 1)
        return max(self.thresholds[first - 1 : last])

    def change_ticks(self) -> Iterator[int]:
        """Yield the ticks from which on `change_at` may be another one."""
        yield from (self.start, self.end + 1)
        if len(set(self.thresholds)) > 1:
            yield from range(self.start, self.start + self.length)
            yield from range(self.end - self.length + 2, self.end + 1)

    def affected_in(self, start: int, end: int) -> int:
        """Return how many ticks from `start` to `end` it may change, at most."""
        common = min(self.end, end) - max(self.start, start) + 1
        return max(0, min(common, self.length))


def affected_ticks(start: int, end: int, occurrences: Iterable[Occurrence]) -> int:
    """Bound in how many ticks of [start, end] two neighbours differ: delta(J).

    Claim. delta(J) = min(|J|, sum over all occurrences phi of the person that overlap J of
    min(|J & J_phi|, T_phi)) is an upper bound: each occurrence is used at most once, and then
    changes at most T_phi ticks in a row, all within J_phi. The occurrence whose interval J is
    counts like the others. `occurrences` are all that overlap J, and maybe others.

    >>> short, long = Occurrence(2, 3, (10,)), Occurrence(3, 6, (22, 22))
    >>> affected_ticks(3, 6, [short, long]), affected_ticks(2, 3, [short, long])
    (3, 2)

    Source: Swellfish specification, section 4.
    """
    ticks, affected = end - start + 1, 0
    for occurrence in occurrences:
        affected += occurrence.affected_in(start, end)
        if affected >= ticks:
            return ticks
    return affected


@dataclass(frozen=True)
class Policy(PlainData):
    """Hide something, again and again: every interval of its calendar is an occurrence of its own.

    Parameters: `length`, T, in ticks, however short an interval is; `thresholds` in units, one for
    all of them or one for each; `activities`, what it is about, nothing: any. Raises `ValueError`
    naming the field.

    >>> from datetime import datetime
    >>> from fugu.operators.swellfish.calendar import Once
    >>> from fugu.operators.swellfish.calendar import Zone
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


SINCE_EVER = -(2**62)
FOR_EVER = 2**62
"""No tick is before the one, or after the other."""

Span = tuple[int, int]
"""The first and the last tick of an interval."""


@dataclass(frozen=True)
class Admitted:
    """Count those occurrences of a policy that start at `first` or later and before `until`.

    A configured policy counts since ever, an added one does not.
    """

    policy: Policy
    first: int = SINCE_EVER
    until: int = FOR_EVER

    @property
    def configured(self) -> bool:
        """Return whether it was there before all changes."""
        return self.first == SINCE_EVER

    def spans(self, tick: int, tick_milliseconds: int) -> Iterator[Span]:
        """Yield the intervals of all that end at `tick` or later, in order of their starts."""
        for start, end in self.policy.when.intervals(max(tick, self.first), tick_milliseconds):
            if start >= self.until:
                return
            if start >= self.first:
                yield start, end

    def spans_in(self, start: int, end: int, tick_milliseconds: int) -> Iterator[Span]:
        """Yield the intervals of all that share a tick with [start, end]."""
        for span in self.spans(start, tick_milliseconds):
            if span[0] > end:
                return
            yield span

    def overlapping(self, start: int, end: int, tick_milliseconds: int) -> Iterator[Occurrence]:
        """Yield all that share a tick with [start, end]."""
        for span in self.spans_in(start, end, tick_milliseconds):
            yield self.policy.occurrence(*span)

    def next_span(self, tick: int, tick_milliseconds: int) -> Span | None:
        """Return the span of the first occurrence that starts at `tick` or later."""
        return next((span for span in self.spans(tick, tick_milliseconds) if span[0] >= tick), None)

    def counts_as(self, name: str, tick: int) -> bool:
        """Return whether it has this id, and its occurrences from `tick` on would count."""
        return self.policy.id == name and self.until > tick


def open_spans(admitted: Iterable[Admitted], tick: int, tick_milliseconds: int) -> list[Span]:
    """Return the intervals that started before `tick` and are not over."""
    return [
        span
        for one in admitted
        for span in one.spans_in(tick, tick, tick_milliseconds)
        if span[0] < tick
    ]


def first_free(effective: int, open_at_it: Iterable[Span]) -> int:
    """Return the first tick at `effective` or later that is after all of them."""
    return max([effective, *(end + 1 for _, end in open_at_it)])


_EVERYWHERE = 2**62


@dataclass(frozen=True)
class Pattern:
    """Tell c_phi(t) as `Occurrence.change_at` does, at once, however many thresholds there are.

    `rising` are the largest of the first thresholds, `falling` the largest of those from each on;
    where all are the same there is one of either.

    >>> rising = Pattern((1, 5, 2), (1, 5, 5), (5, 5, 2))
    >>> [rising.change(tick, 4 - tick) for tick in range(5)]
    [1, 5, 5, 5, 2]
    """

    thresholds: tuple[int, ...]
    rising: tuple[int, ...]
    falling: tuple[int, ...]

    @staticmethod
    def of(policy: Policy, ticks: int) -> "Pattern":
        """Return the pattern of a policy in intervals of so many ticks."""
        largest = max(policy.thresholds)
        if min(policy.thresholds) == largest:
            return Pattern((largest,), (largest,), (largest,))
        thresholds = policy.thresholds_in(ticks)
        falling = tuple(accumulate(reversed(thresholds), max))[::-1]
        return Pattern(thresholds, tuple(accumulate(thresholds, max)), falling)

    def change(self, before: int, after: int) -> int:
        """Return the most that a tick may change that has so many others before and after it."""
        length = len(self.thresholds)
        first, last = max(0, length - 1 - after), min(length - 1, before)
        if first == 0:
            return self.rising[last]
        return self.falling[first] if last == length - 1 else max(self.thresholds[first : last + 1])

    def alike(self, before: int, after: int) -> tuple[int, int]:
        """Return for how many ticks before and after this one the change is the same, at least."""
        length = len(self.thresholds)
        if length == 1:
            return _EVERYWHERE, _EVERYWHERE
        within = min(before, after) >= length - 1
        return (before - length + 1, after - length + 1) if within else (0, 0)
