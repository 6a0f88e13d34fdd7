"""Bound what policies ask of any tick, and refuse changes that ask for more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul

import numpy as np

from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.calendar import DAY
from fugu.operators.swellfish.policy import Admitted, Limits, Noise, Policy, Span
from fugu.operators.swellfish.relevance import Query


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Hold an occurrence in each row.

    `policy` is the place of its policy; `start` and `end` are its interval, `length` is T, and
    `largest` the largest of its thresholds.
    """

    policy: Integers
    start: Integers
    end: Integers
    length: Integers
    largest: Integers


def expanded(
    admitted: Sequence[Admitted], first: int, last: int, tick_milliseconds: int
) -> Occurrences:
    """Return all occurrences that share a tick with [first, last], in order of start and end.

    They are those that `Admitted.overlapping` yields.
    Source: Swellfish specification, section 2 (expansion).
    """
    found = [np.zeros((0, 5), dtype=np.int64)]
    for place, one in enumerate(admitted):
        start, end = one.policy.when.spans(first, last, tick_milliseconds).T
        counts = (start >= one.first) & (start < one.until)
        start, end = start[counts], end[counts]
        rows = np.empty((len(start), 5), dtype=np.int64)
        rows[:, 0], rows[:, 1], rows[:, 2] = place, start, end
        rows[:, 3] = np.minimum(one.policy.length, end - start + 1)
        rows[:, 4] = max(one.policy.thresholds)
        found.append(rows)
    rows = np.concatenate(found)
    return Occurrences(*rows[np.lexsort((rows[:, 2], rows[:, 1]))].T)


DAYS_AHEAD = 366


def asked_for(found: Occurrences, query: Query) -> int:
    """Bound delta(J) Delta_t from above, over all intervals J and all ticks t in them, in units.

    Claim. No tick asks for more, whatever an interval overlaps. Delta_t is at most the sum of the
    largest thresholds of what is open, and delta(J) at most the sum of the lengths T of what
    overlaps J: of all that starts no later than J ends, but for what ends before J starts.

    `found` is in order of starts. Source: Swellfish specification, sections 3 and 4.
    """
    if not len(found.start):
        return 0
    by_end = np.argsort(found.end, kind="stable")
    begun = np.searchsorted(found.start, found.end, "right")
    over = np.searchsorted(found.end[by_end], found.start, "left")
    overlapping = _sums(found.length)[begun] - _sums(found.length[by_end])[over]
    affected = np.minimum(overlapping, found.end - found.start + 1)
    asked: list[int] = list(map(mul, affected.tolist(), _sensitivities(found, query).tolist()))
    return max(asked)


def _sensitivities(found: Occurrences, query: Query) -> Integers:
    """Return the largest Delta_t within each interval, at most."""
    moments = np.concatenate([found.start, found.end + 1])
    moves = np.concatenate([found.largest, -found.largest])
    times, place = np.unique(moments, return_inverse=True)
    change = np.zeros(len(times), dtype=np.int64)
    np.add.at(change, place, moves)
    levels = query.at_most(np.cumsum(change))
    first = np.searchsorted(times, found.start)
    last = np.searchsorted(times, found.end, "right") - 1
    return _largest_between(levels, first, last)


def _largest_between(levels: Integers, first: Integers, last: Integers) -> Integers:
    """Return the largest level from each `first` to each `last`, both included.

    It is that of two runs of a power of two, one of which begins there and the other one ends.
    """
    runs = [levels]
    while len(runs[-1]) > 2 ** (len(runs) - 1):
        step = 2 ** (len(runs) - 1)
        runs.append(np.maximum(runs[-1][:-step], runs[-1][step:]))
    power = np.frexp(last - first + 1)[1] - 1
    largest = np.zeros(len(first), dtype=np.int64)
    for exponent, run in enumerate(runs):
        rows = np.flatnonzero(power == exponent)
        largest[rows] = np.maximum(run[first[rows]], run[last[rows] + 1 - 2**exponent])
    return largest


def stretches(
    admitted: Sequence[Admitted], now: int, tick_milliseconds: int, days: int = DAYS_AHEAD
) -> list[Span]:
    """Return the ticks to look at: the days ahead of `now`, of every first interval after it, and
    of every time in which days are left out, with that time.

    Otherwise calendars repeat themselves every week, so that what they ask for later they have
    asked for by then, but for what clock changes do. Stretches are longer by what overlaps them,
    and do not overlap.
    """
    ahead = days * DAY * 1000 // tick_milliseconds + 1
    longest = max((one.policy.when.longest(tick_milliseconds) for one in admitted), default=0)
    found: list[Span] = []
    for start, end in sorted(set(_irregular(admitted, now, tick_milliseconds))):
        begin, last = max(start, now) - longest, max(max(start, now) + ahead, end) + longest
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((begin, last))
    return found


def _irregular(admitted: Sequence[Admitted], now: int, tick_milliseconds: int) -> Iterator[Span]:
    """Yield the first interval of each policy, the time in which it leaves days out, and the end of
    that."""
    for one in admitted:
        first = next(one.spans(now, tick_milliseconds), None)
        if first is None:
            continue
        yield first
        exceptional = one.policy.when.exceptional(tick_milliseconds)
        if exceptional is not None and exceptional[1] > first[0]:
            end = min(exceptional[1], one.until)
            yield max(exceptional[0], first[0]), end
            yield end, end


def cost(
    admitted: Sequence[Admitted], query: Query, looked_at: Sequence[Span], tick_milliseconds: int
) -> int:
    """Bound delta(J) Delta_t of all that policies have in these stretches, in units."""
    spans = [expanded(admitted, *span, tick_milliseconds) for span in looked_at]
    return max((asked_for(found, query) for found in spans), default=0)


def _sums(numbers: Integers) -> Integers:
    """Return the sums of the first 0, 1, 2, ... numbers."""
    return np.concatenate([[0], np.cumsum(numbers)])


MOST_POLICIES = 100
_DAY = DAY * 1000
"""Milliseconds."""
_MOST_DAYS = 500_000
"""Limit the days that are looked at, of all policies together."""
_DAYS_OF_CONFIGURED = 35


@dataclass(frozen=True)
class Bounds:
    """Refuse changes that go beyond what a collection may ask for.

    What a change does not make more is not refused, whatever it is. Parameters: the limits, the
    query, how long ticks are, and how noise is written.
    """

    limits: Limits
    query: Query
    tick_milliseconds: int
    noise: Noise

    def require(
        self,
        before: Sequence[Admitted],
        after: Sequence[Admitted],
        added: Sequence[Policy],
        now: int,
    ) -> None:
        """Raise `ValueError`, with what it would cost, if a change at `now` adds too much.

        The cost is `cost.asked_for`, an upper bound, in the stretches that are looked at.
        """
        if added:
            self._require_short(longest([added], self.tick_milliseconds))
            self._require_few(before, after, now)
            if self.limits.demand is not None:
                self._require_cheap(before, after, now, self.limits.demand)

    def _require_short(self, ticks: int) -> None:
        most = self.limits.longest
        if ticks > most:
            raise ValueError(
                f"limits.interval: has intervals of up to {ticks:,} ticks where {most:,} are the "
                "most; write several shorter ones"
            )

    def _require_few(self, before: Sequence[Admitted], after: Sequence[Admitted], now: int) -> None:
        were, would_be = (
            len({one.policy.id for one in some if one.until > now}) for some in (before, after)
        )
        most = self.limits.policies
        if most is not None and would_be > max(most, were):
            raise ValueError(
                f"limits.policies: {would_be} policies would count where {most} are the most; "
                "remove some that are not needed"
            )

    def _require_cheap(
        self, before: Sequence[Admitted], after: Sequence[Admitted], now: int, demand: int
    ) -> None:
        looked_at = stretches(after, now, self.tick_milliseconds)
        days = sum(last - first for first, last in looked_at) * self.tick_milliseconds // _DAY
        if days * len(after) > _MOST_DAYS:
            raise ValueError(
                f"limits.noise: {len(after)} policies that begin in so many different years are "
                "too many to say what they would cost; let them begin sooner, or remove some"
            )
        was, would_be = (
            cost(some, self.query, looked_at, self.tick_milliseconds) for some in (before, after)
        )
        if would_be > max(demand, was):
            raise ValueError(
                f"limits.noise: would make noise of {self.noise.of(would_be)} where the collection "
                f"may cause {self.noise.of(demand)}; make theta, pattern or interval smaller"
            )
        added = demand if self.limits.added is None else self.limits.added
        if would_be - was > added:
            raise ValueError(
                f"limits.added: would add {self.noise.of(would_be - was)} of noise where one "
                f"change may add {self.noise.of(added)}; make theta, pattern or interval smaller"
            )


def usual(collections: Sequence[Sequence[Policy]], query: Query, tick_milliseconds: int) -> Limits:
    """Return limits for those who declare none.

    Noise: twice the most that any collection asks for as it is configured, or a whole contribution
    at every tick of a day, whichever is more; intervals: as long as the longest one, or a day.
    """
    day = -(-_DAY // tick_milliseconds)
    demand = day * query.largest_change
    for collection in collections:
        admitted = [Admitted(policy) for policy in collection]
        looked_at = stretches(admitted, 0, tick_milliseconds, _DAYS_OF_CONFIGURED)
        demand = max(demand, 2 * cost(admitted, query, looked_at, tick_milliseconds))
    return Limits(
        demand=demand,
        interval=max(day, longest(collections, tick_milliseconds)),
        policies=max(MOST_POLICIES, *(len(collection) for collection in collections)),
    )


def longest(collections: Sequence[Sequence[Policy]], tick_milliseconds: int) -> int:
    """Return how many ticks an interval of these policies has, at most; 0 where there are none."""
    policies = [policy for collection in collections for policy in collection]
    return max((policy.when.longest(tick_milliseconds) for policy in policies), default=0)
