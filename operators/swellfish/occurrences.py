"""The occurrences of a policy that are admitted, and what becomes of a change of policies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter

from fugu.operators.swellfish.change import Change
from fugu.operators.swellfish.occurrence import Occurrence
from fugu.operators.swellfish.policy import Policy

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

    def occurrences(self, tick: int, tick_milliseconds: int) -> Iterator[Occurrence]:
        """Yield all that end at `tick` or later, in order of their starts."""
        for occurrence in self.policy.occurrences(max(tick, self.first), tick_milliseconds):
            if occurrence.start >= self.until:
                return
            if occurrence.start >= self.first:
                yield occurrence

    def overlapping(self, start: int, end: int, tick_milliseconds: int) -> Iterator[Occurrence]:
        """Yield all that share a tick with [start, end]."""
        for occurrence in self.occurrences(start, tick_milliseconds):
            if occurrence.start > end:
                return
            yield occurrence

    def next_span(self, tick: int, tick_milliseconds: int) -> Span | None:
        """Return the span of the first occurrence that starts at `tick` or later."""
        for occurrence in self.occurrences(tick, tick_milliseconds):
            if occurrence.start >= tick:
                return occurrence.start, occurrence.end
        return None

    def counts_as(self, name: str, tick: int) -> bool:
        """Return whether it has this id, and its occurrences from `tick` on would count."""
        return self.policy.id == name and self.until > tick


@dataclass(frozen=True)
class Decision:
    """State what was decided on a change, for people who asked for it."""

    effective: int
    """The tick from which on it counts."""
    first: Span | None
    """The first occurrence that it adds to what is protected, if any."""
    waits_for: Span | None
    """The last interval that is open at `effective`, if the policy would begin earlier without it:
    it is postponed."""
    runs_out: Span | None
    """The last occurrence of what is removed that has begun before and goes on, if any."""


def admit(
    admitted: tuple[Admitted, ...], change: Change, now: int, tick_milliseconds: int
) -> tuple[tuple[Admitted, ...], Decision]:
    """Return the policies of a collection after a change, and what was decided.

    The ticks before `now` know nothing of the change. A replacement of what is not there adds it.
    Raises `ValueError` if what it only removes is not there, or what it only adds is there already.

    delta(J) is frozen when J opens, and budget is spent by it. So a change must not bring an
    occurrence that overlaps an interval that is open: it would raise delta(J) after the fact.

    Every change counts from an effective tick E on, which is not before `now`. An occurrence of an
    added policy is admitted if it starts at E or later, and overlaps no interval of the same
    collection that is open at E, that is, one that started before E. Whatever starts at E or later
    overlaps an interval [s, e] with s < E <= e if and only if it starts at e or earlier. So all
    that matters is one number: an added policy is admitted from `first` on, the later of E and the
    tick after all that is open at E. A removed one is admitted `until` E: what has begun before E
    runs to its end.

    Claim. No occurrence that was not admitted when J opened is ever admitted and overlaps J. For
    let a change at `now` admit an occurrence with start >= first >= E >= now, and let J = [s, e] be
    of the same collection and have opened, s < now. No later removal can have cut J off, since each
    counted from a tick after s. So if e >= E, J was among those open at E, and start >= first > e;
    otherwise start >= E > e. The occurrence starts after J in both cases.

    >>> from datetime import datetime
    >>> from fugu.operators.swellfish.calendar import Once
    >>> from fugu.operators.swellfish.zone import Zone
    >>> def policy(name: str, *days: int) -> Policy:
    ...     start, end = (datetime(1970, 1, day) for day in days)
    ...     return Policy(name, Once(Zone("UTC", ((0, 0),)), start, end), 1, (1,))
    >>> late = Change("family", effective=1, removes=None, adds=policy("visit", 3, 5))
    >>> _, decision = admit((Admitted(policy("travel", 1, 5)),), late, 1, 86_400_000)
    >>> decision.first, decision.waits_for
    (None, (0, 3))

    Source: Swellfish specification, section 2 (life cycle).
    """
    effective = max(change.effective, now)
    first = waits_for = runs_out = None
    if change.removes is not None:
        gone = tuple(one for one in admitted if one.counts_as(change.removes, effective))
        if not gone and change.adds is None:
            raise ValueError(
                f"policy {change.removes}: removes: collection {change.collection} has no policy "
                f"with this id from tick {effective} on"
            )
        runs_out = _last(open_spans(gone, effective, tick_milliseconds))
        admitted = tuple(
            replace(one, until=effective) if one.counts_as(change.removes, effective) else one
            for one in admitted
        )
    if change.adds is not None:
        name = change.adds.id
        if any(one.counts_as(name, effective) for one in admitted):
            raise ValueError(
                f"policy {name}: adds: collection {change.collection} has a policy with this id "
                f"from tick {effective} on; replace or remove that one"
            )
        obstacles = open_spans(admitted, effective, tick_milliseconds)
        added = Admitted(change.adds, first_free(effective, obstacles))
        wished = Admitted(change.adds).next_span(effective, tick_milliseconds)
        first = added.next_span(effective, tick_milliseconds)
        waits_for = _last(obstacles) if wished != first else None
        admitted = (*admitted, added)
    return admitted, Decision(effective, first, waits_for, runs_out)


def open_spans(admitted: Iterable[Admitted], tick: int, tick_milliseconds: int) -> list[Span]:
    """Return the intervals that started before `tick` and are not over."""
    return [
        (occurrence.start, occurrence.end)
        for one in admitted
        for occurrence in one.overlapping(tick, tick, tick_milliseconds)
        if occurrence.start < tick
    ]


def first_free(effective: int, open_at_it: Iterable[Span]) -> int:
    """Return the first tick at `effective` or later that is after all of them."""
    return max([effective, *(end + 1 for _, end in open_at_it)])


def _last(spans: Iterable[Span]) -> Span | None:
    return max(spans, key=itemgetter(1), default=None)
