"""Tell whether a policy that replaces another one covers it: for some time, or for ever."""

from dataclasses import dataclass, field, replace

from fugu.operators.swellfish.calendar import Calendar
from fugu.operators.swellfish.occurrences import Admitted
from fugu.operators.swellfish.policy import Policy


@dataclass(frozen=True)
class Coverage:
    """Tell which occurrences of the policy `old` are covered by those of the `new` one.

    Thresholds are compared once for all intervals of the same lengths: they may be many.

    >>> from datetime import datetime
    >>> from fugu.operators.swellfish.calendar import Once
    >>> from fugu.operators.swellfish.zone import Zone
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

    >>> from fugu.operators.swellfish.zone import Zone
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
