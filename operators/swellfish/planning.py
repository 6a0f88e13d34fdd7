"""Charges of coming ticks, chosen together: what will be open when is known from calendars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fugu.operators.swellfish.kept import Stretch
from fugu.operators.swellfish.ledger import Ledgers
from fugu.operators.swellfish.programme import Limit, least_noise
from fugu.operators.swellfish.relevance import Interval, Relevance, Timeline

TICKS_AHEAD = 4_000
"""A fortnight is 2,016 ticks of ten minutes: it fits, wherever it begins in the first half."""
LARGEST_STRETCHES, LARGEST_OPEN = 500, 5_000
"""No plan looks further ahead: open intervals are added up over stretches."""
_RUNS = 50
"""So many different charges of an interval are told apart, of those that are spent."""
Stretches = Sequence[Stretch[Relevance]]


def foreseen(timeline: Timeline, changes: bytes, first: int, ticks: int = TICKS_AHEAD) -> Stretches:
    """Return what is asked of so many ticks, in stretches of which the same is asked; of fewer
    ticks where these would be too many for a programme.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> [(one.first, one.last, one.value.sensitivity) for one in foreseen(HOUSEHOLD, b"", 0, 7)]
    [(0, 0, 0), (1, 1, 100), (2, 2, 320), (3, 5, 220), (6, 6, 0)]
    """
    found: list[Stretch[Relevance]] = []
    still_open = 0
    for tick in range(first, first + ticks):
        relevance = timeline.relevance(tick, changes)
        if found and found[-1].value == relevance:
            found[-1] = Stretch(found[-1].first, tick, relevance)
            continue
        still_open += len(relevance.intervals)
        if found and (len(found) == LARGEST_STRETCHES or still_open > LARGEST_OPEN):
            break
        found.append(Stretch(tick, tick, relevance))
    return found


def planned_charges(stretches: Stretches, ledgers: Ledgers, cap: int) -> list[int]:
    """Return what every tick of each stretch is to be charged, in units; 0: nothing is relevant.

    They minimise the sum of Delta_t / e_t, the expected size of all noise, under the limits of all
    intervals: the delta(J) largest charges of each add up to the cap at most. `ledgers`, one book,
    are those that are open at the first tick, and what they hold is spent.

    Claim. Nothing is lost by equal charges within a stretch. Its ticks are in the same intervals
    and have the same sensitivity. So limits and objective are the same if charges are exchanged
    among them, and both are convex: the mean over all exchanges is no worse.

    Ticks of an interval beyond the last stretch count as one more stretch of that interval alone,
    with its mean sensitivity so far; otherwise nothing would be left for them. No guarantee depends
    on any of this, since ledgers are asked again at every charge.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> nothing = Ledgers.decoded([b""])
    >>> charges = planned_charges(foreseen(HOUSEHOLD, b"", 0, 11), nothing, cap=1000)
    >>> [len(charges), charges[0], charges[-1]]
    [7, 0, 0]
    """
    groups = [_Group.of(stretch) for stretch in stretches]
    relevant = [place for place, group in enumerate(groups) if group.sensitivity]
    variables = [groups[place] for place in relevant]
    variables += _rests(variables, stretches[-1].last) if relevant else []
    charges = [0] * len(stretches)
    if variables:
        weights = [group.ticks * group.sensitivity for group in variables]
        shares = least_noise(weights, _limits(variables, ledgers, cap)).tolist()
        for place, share in zip(relevant, shares, strict=False):
            charges[place] = int(share * cap)
    return charges


@dataclass(frozen=True)
class _Group:
    """Hold ticks that are to be charged the same."""

    ticks: int
    sensitivity: float
    intervals: Sequence[Interval]

    @staticmethod
    def of(stretch: Stretch[Relevance]) -> "_Group":
        asked = stretch.value
        sensitivity = asked.sensitivity if asked.intervals else 0
        return _Group(stretch.last - stretch.first + 1, sensitivity, asked.intervals)


def _members(groups: Sequence[_Group]) -> Mapping[Interval, Sequence[int]]:
    """Return the numbers of the groups that are in each interval."""
    members: dict[Interval, list[int]] = {}
    for number, group in enumerate(groups):
        for interval in group.intervals:
            members.setdefault(interval, []).append(number)
    return members


def _rests(groups: Sequence[_Group], last: int) -> list[_Group]:
    """Return what is left of intervals that go on after the last tick."""
    rests = []
    for interval, members in _members(groups).items():
        if interval.end > last:
            ticks = sum(groups[number].ticks for number in members)
            moved = sum(groups[number].ticks * groups[number].sensitivity for number in members)
            rests.append(_Group(interval.end - last, moved / ticks, (interval,)))
    return rests


def _limits(groups: Sequence[_Group], ledgers: Ledgers, cap: int) -> list[Limit]:
    spans = zip(ledgers.start.tolist(), ledgers.end.tolist(), strict=True)
    places = {span: place for place, span in enumerate(spans)}
    first = [0, *np.cumsum(ledgers.runs).tolist()]
    runs = list(zip((ledgers.charges / cap).tolist(), ledgers.counts.tolist(), strict=True))
    limits = []
    for interval, members in _members(groups).items():
        affected, spent = interval.affected, list[tuple[float, int]]()
        place = places.get((interval.start, interval.end))
        if place is not None:
            affected = ledgers.affected.item(place)
            spent = _few(runs[first[place] : first[place + 1]])
        ticks = [(number, groups[number].ticks) for number in members]
        limits.append(Limit(affected, ticks, spent))
    return limits


def _few(runs: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Return no more than `_RUNS` runs, each the mean of neighbours, with as much in all."""
    size = -(-len(runs) // _RUNS) or 1
    means = []
    for first in range(0, len(runs), size):
        shares, ticks = zip(*runs[first : first + size], strict=True)
        mean = sum(share * count for share, count in zip(shares, ticks, strict=True)) / sum(ticks)
        means.append((mean, sum(ticks)))
    return means
