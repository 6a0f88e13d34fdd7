"""Tell whether a policy that replaces another one covers it for ever."""

from dataclasses import replace

from fugu.operators.swellfish.calendar import Calendar
from fugu.operators.swellfish.occurrences import Admitted, includes
from fugu.operators.swellfish.policy import Policy


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
    occurrence = next(gone.occurrences(kept.until, tick_milliseconds), None)
    if occurrence is None:
        return True
    if not isinstance(old.policy.when, Calendar):
        return new.covers(occurrence, old.policy.activities, tick_milliseconds)
    if not isinstance(new.policy.when, Calendar):
        return False
    return includes(new.policy.activities, old.policy.activities) and _always(
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
