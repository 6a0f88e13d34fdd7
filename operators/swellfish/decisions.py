"""Decide on changes of policies: which occurrences are admitted, and which ones stay."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from operator import itemgetter

from fugu.operators.swellfish.calendar import Calendar
from fugu.operators.swellfish.changes import (
    AnyChange,
    Change,
    MovedKeys,
    NewCollection,
    Standing,
    Standings,
    noticed,
)
from fugu.operators.swellfish.policy import Admitted, Policy, Span, first_free, open_spans


@dataclass(frozen=True)
class Coverage:
    """Tell which occurrences of the policy `old` are covered by those of the `new` one.

    Thresholds are compared once for all intervals of the same lengths: they may be many.

    >>> from datetime import datetime
    >>> from fugu.operators.swellfish.calendar import Once
    >>> from fugu.operators.swellfish.calendar import Zone
    >>> first = Once(Zone("UTC", ((0, 0),)), datetime(1970, 1, 1), datetime(1970, 1, 1, 6))
    >>> tea, bath = (Policy(name, first, 2, high) for name, high in [("tea", (3,)), ("bath", (5,))])
    >>> Coverage(tea, Admitted(bath), 3_600_000).includes(0, 5)
    True
    """

    old: Policy
    new: Admitted
    tick_milliseconds: int
    _known: dict[tuple[int, int], bool] = field(init=False, repr=False, default_factory=dict)

    def includes(self, start: int, end: int) -> bool:
        """Return whether an occurrence of the new policy hides what the old one with this interval
        hides."""
        return _are_among(self.old.activities, self.new.policy.activities) and any(
            first <= start and end <= last and self._hides(last - first + 1, end - start + 1)
            for first, last in self.new.spans_in(start, end, self.tick_milliseconds)
        )

    def _hides(self, own: int, its: int) -> bool:
        """Return whether thresholds are as high in an interval of so many ticks as in another."""
        if (own, its) not in self._known:
            thresholds = self.new.policy.thresholds_in(own), self.old.thresholds_in(its)
            self._known[own, its] = as_high(*thresholds)
        return self._known[own, its]


def as_high(own: tuple[int, ...], its: tuple[int, ...]) -> bool:
    """Return whether a pattern with the `own` thresholds hides a shorter one, or one as long.

    The other one starts anywhere in its interval, and so within this one. With patterns of one
    length, each threshold must be as large. A longer pattern can be moved so that it is within its
    interval and has all ticks of the shorter one, but where it stands then depends on these; so its
    least threshold must be as large as any of the other one.

    >>> as_high((3, 3, 3), (1, 3)), as_high((2, 3, 3), (1, 3)), as_high((2, 3), (1, 3))
    (True, False, True)
    """
    if len(own) == len(its) and all(one >= other for one, other in zip(own, its, strict=True)):
        return True
    return len(own) >= len(its) and min(own) >= max(its)


def _are_among(activities: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Return whether the others are all of these, and more; none are named where any is meant."""
    return not others or (bool(activities) and set(activities) <= set(others))


def goes_on(old: Admitted, kept: Admitted, new: Admitted, tick_milliseconds: int) -> bool:
    """Return whether all occurrences that are no longer `kept` are covered by new ones for certain.

    The old policy is kept until the first occurrence of the new one, or longer. Claim. Where two
    calendars have the same zone and start, intervals of a day start at the same tick; so the new
    one of a day is admitted if the old one is not kept. A local time that is later by as much as
    clocks of the zone ever differ is later in UTC, whatever clocks did in between; so the new
    interval ends no earlier. Its thresholds are as large in any interval if each is as large as any
    old one; or each as large as the one at its place, where intervals are the same.

    >>> from fugu.operators.swellfish.calendar import Zone
    >>> berlin = Zone("Berlin", ((0, 3600), (86_400, 7200)))
    >>> def policy(end: int, threshold: int) -> Policy:
    ...     when = Calendar(berlin, (0, 1), start=6 * 3600, end=end * 3600)
    ...     return Policy("shower", when, 1, (threshold,))
    >>> old, kept = Admitted(policy(9, 22)), Admitted(policy(9, 22), until=100)
    >>> wider, lower = (Admitted(policy(*sizes), first=90) for sizes in [(10, 25), (10, 21)])
    >>> [goes_on(old, kept, new, 3_600_000) for new in (wider, lower)]
    [True, False]
    """
    gone = replace(old, first=max(old.first, kept.until))
    span = gone.next_span(kept.until, tick_milliseconds)
    if span is None:
        return True
    if not isinstance(old.policy.when, Calendar):
        return Coverage(old.policy, new, tick_milliseconds).includes(*span)
    if not isinstance(new.policy.when, Calendar):
        return False
    return _are_among(old.policy.activities, new.policy.activities) and _always(
        old.policy, old.policy.when, new.policy, new.policy.when
    )


def _always(old: Policy, its: Calendar, new: Policy, own: Calendar) -> bool:
    longer = own.seconds - its.seconds
    offsets = [offset for _, offset in own.zone.transitions]
    in_time = (own.zone, own.start) == (its.zone, its.start) and (
        longer == 0 or longer >= max(offsets) - min(offsets)
    )
    as_high = new.length >= old.length and min(new.thresholds) >= max(old.thresholds)
    pointwise = longer == 0 and new.length == old.length and _each(new, old)
    return in_time and _on_all_days(its, own) and (as_high or pointwise)


def _on_all_days(its: Calendar, own: Calendar) -> bool:
    begun = own.first_day is None or (its.first_day is not None and own.first_day <= its.first_day)
    goes_on = own.last_day is None or (its.last_day is not None and own.last_day >= its.last_day)
    days = set(own.days) >= set(its.days) and set(own.except_days) <= set(its.except_days)
    return begun and goes_on and days


def _each(new: Policy, old: Policy) -> bool:
    """Return whether each threshold is as large, of policies of the same length."""
    if len(new.thresholds) == len(old.thresholds):
        pairs = zip(new.thresholds, old.thresholds, strict=True)
        return all(own >= its for own, its in pairs)
    return len(old.thresholds) == 1 and min(new.thresholds) >= old.thresholds[0]


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
    >>> from fugu.operators.swellfish.calendar import Zone
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
        _kept_occurrences(one, added, first, notice_ends, tick_milliseconds) if one in gone else one
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


def _kept_occurrences(
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


MOST_MADE_BY_STRANGERS = 100
"""Collections that strangers make, in all: each of them costs time at every tick and change."""


def decided(
    standings: Standings, change: AnyChange, now: int, notice: int, tick_milliseconds: int
) -> tuple[Standings, Decision]:
    """Return how collections stand after a change, and what was decided.

    The number of a change by an owner must be larger than that of the last one, so that no change
    counts twice, or after it was refused. Where there are owners, a stranger can add policies and
    collections, and replace a policy by one that covers it; nothing else. Raises `ValueError`
    naming what the change is about, and the field.
    """
    if isinstance(change, NewCollection):
        return _made(standings, change, now, tick_milliseconds)
    standing = standings.get(change.collection)
    if standing is None:
        raise ValueError(
            f"{change.subject}: collection: {change.collection} is not known; make it first, by a "
            "record that has its id as key"
        )
    if change.owner and change.sequence <= standing.sequence:
        raise ValueError(
            f"{change.subject}: sequence: must be more than {standing.sequence}, that of the last "
            "change by an owner; write a larger one"
        )
    if isinstance(change, MovedKeys):
        moved, decision = _moved(standings, change, now, notice)
    else:
        after, decision = admit(standing.admitted, change, now, notice, tick_milliseconds)
        if standing.owned and not change.owner:
            _require_no_less(standing.admitted, after, change, tick_milliseconds)
        moved = {**standings, change.collection: replace(standing, admitted=after)}
    return numbered(moved, change), decision


def numbered(standings: Standings, change: AnyChange) -> Standings:
    """Return how collections stand when a change has been told, be it refused or not: whoever has
    its record, which an owner has signed, cannot use it later."""
    standing = standings.get(change.collection)
    if not change.owner or standing is None or change.sequence <= standing.sequence:
        return standings
    return {**standings, change.collection: replace(standing, sequence=change.sequence)}


def _made(
    standings: Standings, change: NewCollection, now: int, tick_milliseconds: int
) -> tuple[dict[str, Standing], Decision]:
    """Add a collection; nothing of it can be open, so its policies wait for nothing."""
    if change.collection in standings:
        raise ValueError(
            f"{change.subject}: is there already; add its policies one by one, each with a record "
            "of its own"
        )
    by_strangers = sum(_of_strangers(one) for one in standings.values())
    if not change.owner and by_strangers >= MOST_MADE_BY_STRANGERS:
        raise ValueError(
            f"{change.subject}: strangers have made {by_strangers} collections, and no more may "
            "be; let an owner of the document sign the change, or add policies to one that is there"
        )
    effective = max(change.effective, now)
    admitted = tuple(Admitted(policy, effective) for policy in change.policies)
    sequence = change.sequence if change.owner else 0
    made = Standing(admitted, owned=change.owner, sequence=sequence, made=True)
    spans = [one.next_span(effective, tick_milliseconds) for one in admitted]
    first = min((span for span in spans if span is not None), default=None)
    decision = Decision(effective, first, waits_for=None, until=None, runs_out=None)
    return {**standings, change.collection: made}, decision


def _of_strangers(standing: Standing) -> bool:
    return standing.made and not standing.owned


def _moved(
    standings: Standings, change: MovedKeys, now: int, notice: int
) -> tuple[dict[str, Standing], Decision]:
    """Move keys at the end of the notice; an earlier move that has not happened then never does."""
    if not change.owner and any(standing.owned for standing in standings.values()):
        raise ValueError(
            f"{change.subject}: keys: are moved by owners of the whole document only; let one of "
            "them sign the change"
        )
    since = noticed(change, now, notice)
    after = {
        name: replace(standing, keys=_kept_keys(standing.keys, standings, change.keys, now, since))
        for name, standing in standings.items()
    }
    target = after[change.collection]
    keys = {**target.keys, **dict.fromkeys(change.keys, since)}
    after[change.collection] = replace(target, keys=keys)
    return after, Decision(since, first=None, waits_for=None, until=None, runs_out=None)


def _kept_keys(
    moved: Mapping[str, int], standings: Standings, keys: tuple[str, ...], now: int, since: int
) -> dict[str, int]:
    """Return those moves to a collection that count at `now` or later, where keys move again."""

    def counts(key: str, tick: int) -> bool:
        others = (standing.keys.get(key, tick) for standing in standings.values())
        return tick < since and not any(tick < other <= now for other in others)

    return {key: tick for key, tick in moved.items() if key not in keys or counts(key, tick)}


def _require_no_less(
    before: tuple[Admitted, ...],
    after: tuple[Admitted, ...],
    change: Change,
    tick_milliseconds: int,
) -> None:
    """Raise `ValueError` if a change takes anything away, or that is not certain."""
    added = None if change.adds is None else after[-1]
    for old, kept in zip(before, after[: len(before)], strict=True):
        if old != kept and (added is None or not goes_on(old, kept, added, tick_milliseconds)):
            raise ValueError(
                f"{change.subject}: collection {change.collection} is owned, and only an owner "
                "removes a policy, or replaces it by one that does not cover it; let an owner sign "
                "the change"
            )


_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def in_words(
    change: AnyChange, decision: Decision, tick_milliseconds: int, zone: tzinfo = UTC
) -> str:
    """Tell in one line what was decided on a change of policies, by the clock of a zone.

    >>> from fugu.operators.swellfish.decisions import Decision
    >>> from fugu.operators.swellfish.changes import Change
    >>> gone = Change("family", effective=3, removes="sauna", adds=None)
    >>> decided = Decision(3, first=None, waits_for=None, until=3, runs_out=(2, 4))
    >>> in_words(gone, decided, 3_600_000)
    'family/sauna is removed from 1970-01-01T03:00Z on; what has begun is protected until \
1970-01-01T05:00Z'
    """
    return "; ".join(_parts(change, decision, tick_milliseconds, zone))


def _parts(
    change: AnyChange, decision: Decision, tick_milliseconds: int, zone: tzinfo
) -> Iterator[str]:
    def time(tick: int) -> str:
        if tick <= 0:
            return "the first tick"
        try:
            at = (_BEGINNING + timedelta(milliseconds=tick * tick_milliseconds)).astimezone(zone)
        except OverflowError:
            return f"tick {tick}"
        written = at.isoformat(timespec="seconds" if at.second else "minutes")
        return written.replace("+00:00", "Z")

    since = time(decision.effective)
    if isinstance(change, MovedKeys):
        keys = f"{len(change.keys):,} keys" if len(change.keys) > 1 else "a key"
        yield f"{keys} moved to {change.collection} from {since} on"
        return
    if isinstance(change, NewCollection):
        whose = "owned" if change.owner else "not owned"
        yield f"collection {change.collection}, {whose}, is made from {since} on"
        name, adds = change.key, bool(change.policies)
    else:
        name, adds = change.key, change.adds is not None
        if adds:
            yield f"{name} is added from {since} on"
    if adds:
        if decision.first is None:
            yield "nothing is protected by it: it has no interval left that can count"
        elif decision.effective > 0:
            yield f"its first interval begins at {time(decision.first[0])}"
        if decision.waits_for is not None:
            why = "overlap an interval that is open until " + time(decision.waits_for[1] + 1)
            never = decision.first is None
            yield f"those that it has {why}" if never else f"earlier ones do not count: they {why}"
    if decision.until is not None:
        gone = "the one that it replaces" if adds else name
        yield f"{gone} is removed from {time(decision.until)} on"
    if decision.runs_out is not None:
        yield f"what has begun is protected until {time(decision.runs_out[1] + 1)}"
