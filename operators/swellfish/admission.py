"""Decide which occurrences a change of policies admits, and which ones stay."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import itemgetter

from fugu.operators.swellfish.change import Change, noticed
from fugu.operators.swellfish.coverage import Coverage
from fugu.operators.swellfish.occurrences import Admitted, Span, first_free, open_spans


@dataclass(frozen=True)
class Decision:
    """State what was decided on a change, for people who asked for it."""

    effective: int
    """The tick from which on it counts."""
    first: Span | None
    """The first occurrence that it adds to what is protected, if any."""
    waits_for: Span | None
    """The interval that is open longest now, if the policy would begin earlier without it: it is
    postponed."""
    until: int | None
    """The tick from which on nothing of what it removes begins any more, if it removes anything."""
    runs_out: Span | None
    """The last occurrence of what is removed that has begun before and goes on, if any."""


def admit(
    admitted: tuple[Admitted, ...], change: Change, now: int, notice: int, tick_milliseconds: int
) -> tuple[tuple[Admitted, ...], Decision]:
    """Return the policies of a collection after a change, and what was decided.

    The ticks before `now` know nothing of the change. A replacement of what is not there adds it.
    Raises `ValueError` if what it only removes is not there, or what it only adds is there already.

    delta(J) is frozen when J opens, and budget is spent by it. So a change must not bring an
    occurrence that overlaps an interval that is open: it would raise delta(J) after the fact. And
    nobody must lose protection without notice.

    Every change counts from an effective tick E on, which is not before `now`. An added policy is
    admitted from `first` on, the later of E and the tick after all that is open at `now`, that is,
    all that started before and is not over. What begins between `now` and E is no obstacle: it
    knows of the change when it opens.

    A removed policy is admitted `until` the end of the notice (`noticed`), E or later; what has
    begun before runs to its end. What is replaced stays until the first occurrence of the new
    policy, and after that to the end of the notice, unless all that begins until then is covered by
    occurrences of the new one (`Coverage`). A replacement that is never admitted removes. What was
    to end earlier anyway ends earlier.

    Claim 1. No occurrence that was not admitted when J opened is ever admitted and overlaps J. For
    let a change at `now` admit an occurrence with start >= first >= E >= now, and let J = [s, e] be
    of the same collection and have opened, s < now. No later removal can have cut J off, since each
    counted from a tick after s. So if e >= now, J was among those open at `now`, and start >= first
    > e; otherwise start >= now > e. The occurrence starts after J in both cases.

    Claim 2. What an occurrence hides that is admitted before a change is hidden after it, if it
    starts before the end of the notice. For let it start at s, and let its policy be cut off at
    `until` <= s: that is where the policy is replaced, `until` is the first start of the new one or
    later, and it is covered by an admitted occurrence of the new one, or `until` would be after s.

    >>> from datetime import datetime
    >>> from fugu.operators.swellfish.calendar import Once
    >>> from fugu.operators.swellfish.policy import Policy
    >>> from fugu.operators.swellfish.zone import Zone
    >>> def policy(name: str, *days: int) -> Policy:
    ...     start, end = (datetime(1970, 1, day) for day in days)
    ...     return Policy(name, Once(Zone("UTC", ((0, 0),)), start, end), 1, (1,))
    >>> late = Change("family", effective=1, removes=None, adds=policy("visit", 3, 5))
    >>> _, decision = admit((Admitted(policy("travel", 1, 5)),), late, 1, 7, 86_400_000)
    >>> decision.first, decision.waits_for
    (None, (0, 3))

    Source: Swellfish specification, section 2 (life cycle).
    """
    effective, notice_ends = max(change.effective, now), noticed(change, now, notice)
    gone = [one for one in admitted if one.counts_as(change.policy_id, effective)]
    _require_fitting(change, gone, effective)
    added, waits_for = None, None
    if change.adds is not None:
        obstacles = open_spans(admitted, now, tick_milliseconds)
        added = Admitted(change.adds, first_free(effective, obstacles))
        wished = Admitted(change.adds).next_span(effective, tick_milliseconds)
        if wished != added.next_span(added.first, tick_milliseconds):
            waits_for = _last(obstacles)
    first = None if added is None else added.next_span(added.first, tick_milliseconds)
    after = [
        _kept(one, added, first, notice_ends, tick_milliseconds) if one in gone else one
        for one in admitted
    ]
    kept = [one for one, before in zip(after, admitted, strict=True) if before in gone]
    until = max((one.until for one in kept), default=None)
    running = [] if until is None else open_spans(kept, until, tick_milliseconds)
    decision = Decision(effective, first, waits_for, until, _last(running))
    return (*after, *([] if added is None else [added])), decision


def _require_fitting(change: Change, gone: list[Admitted], effective: int) -> None:
    """Raise `ValueError` if what it removes is not there, or what it adds is there already."""
    if change.adds is None and not gone:
        raise ValueError(
            f"policy {change.policy_id}: removes: collection {change.collection} has no policy "
            f"with this id from tick {effective} on"
        )
    if change.removes is None and gone:
        raise ValueError(
            f"policy {change.policy_id}: adds: collection {change.collection} has a policy with "
            f"this id from tick {effective} on; replace or remove that one"
        )


def _kept(
    old: Admitted,
    new: Admitted | None,
    first: Span | None,
    notice_ends: int,
    tick_milliseconds: int,
) -> Admitted:
    """Return the old policy as far as it stays, given the first occurrence of the new one."""
    if new is None or first is None:
        return replace(old, until=min(old.until, notice_ends))
    covered_from, coverage = first[0], Coverage(old.policy, new, tick_milliseconds)
    for start, end in old.spans_in(first[0], notice_ends - 1, tick_milliseconds):
        if not coverage.includes(start, end):
            covered_from = max(covered_from, start + 1)
    return replace(old, until=min(old.until, covered_from))


def _last(spans: Iterable[Span]) -> Span | None:
    return max(spans, key=itemgetter(1), default=None)
