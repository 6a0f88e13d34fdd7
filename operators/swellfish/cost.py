"""Bound what the policies of a collection ask of any tick, from the calendars alone."""

from collections.abc import Iterator, Sequence
from operator import mul

import numpy as np

from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.expansion import Occurrences, expanded
from fugu.operators.swellfish.occurrences import Admitted, Span
from fugu.operators.swellfish.temporal_sensitivity import Query
from fugu.operators.swellfish.zone import DAY

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
