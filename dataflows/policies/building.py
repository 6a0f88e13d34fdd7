"""Build the policies that operators know from the sections of a policy document.

`UnusableField` names the field of a policy, as in `pattern.ticks`.
"""

from collections.abc import Iterable
from datetime import datetime, time, timedelta
from itertools import chain, islice

from fugu.dataflows.base.errors import UnusableField
from fugu.dataflows.policies.fields import Threshold
from fugu.dataflows.policies.secret_values import Vocabulary
from fugu.dataflows.policies.sections import (
    MOST_TICKS,
    WEEKDAYS,
    DocumentSection,
    PatternSection,
    PolicySection,
    QuerySection,
)
from fugu.dataflows.policies.zones import zone, zone_info
from fugu.operators.swellfish.calendar import Calendar, Once, When
from fugu.operators.swellfish.policy import Collection, Policy
from fugu.operators.swellfish.secret_pairs import Pair, flipped, threshold
from fugu.operators.swellfish.temporal_sensitivity import Query

_INTERVALS_LOOKED_AT = 7


def query(document: DocumentSection) -> Query:
    """Build the query: what is published, and by how much one individual can change it."""
    kind, activities = document.query.kind, tuple(document.activities or ())
    match kind:
        case "sum":
            return Query(kind, document.query.range_in_units)
        case "count":
            return Query(kind, 1)
        case "histogram":
            return Query(kind, 2)
        case "multi_histogram":
            return Query(kind, len(activities), activities)


def notice(document: DocumentSection, collections: Iterable[Collection]) -> int:
    """Return for how many ticks people keep what a change takes away.

    Unless declared, that is the longest interval of all policies, or a day if there are none.
    """
    if document.notice is not None:
        return -(-document.notice // document.grid.tick)
    policies = chain.from_iterable(collection.policies for collection in collections)
    longest = (one.when.longest(document.grid.milliseconds) for one in policies)
    return max(longest, default=-(-timedelta(days=1) // document.grid.tick))


def policy(section: PolicySection, document: DocumentSection) -> Policy:
    """Build a policy, checked against what the document says about all of them."""
    when = _when(section, document.grid.zone)
    length = _length(section.pattern, document.grid.tick)
    most = ticks(when, document.grid.milliseconds)
    if section.pattern.ticks is not None and 0 < most < length:
        raise UnusableField("pattern.ticks", f"the interval has {most} ticks; write no more")
    if most > MOST_TICKS:
        field = "interval" if section.calendar is None else "calendar"
        raise UnusableField(
            field, f"has {most:,} ticks, and {MOST_TICKS:,} are the most; take wider ticks"
        )
    activities = _activities(section, document)
    return Policy(section.id, when, length, _thresholds(section, document, length), activities)


def _length(pattern: PatternSection, tick: timedelta) -> int:
    if pattern.duration is None:
        assert pattern.ticks is not None
        return pattern.ticks
    touched = -(-pattern.duration // tick)
    return touched if pattern.aligned else touched + 1


def ticks(when: When, milliseconds: int) -> int:
    """Count the ticks of an interval: the most of the first ones, 0 if there is none."""
    first_ones = islice(when.intervals(0, milliseconds), _INTERVALS_LOOKED_AT)
    return max((last - first + 1 for first, last in first_ones), default=0)


def _thresholds(section: PolicySection, document: DocumentSection, length: int) -> tuple[int, ...]:
    """Limit thresholds to what an individual can change."""
    written, most = asked(section, document), query(document).largest_change
    if isinstance(section.theta, list) and len(written) != length:
        raise UnusableField(
            "theta", f"lists {len(written)} numbers for {length} ticks; write {length}, or one"
        )
    return tuple(min(units, most) for units in written)


def asked(section: PolicySection, document: DocumentSection) -> list[int]:
    """Return what is to be hidden, in units: of each tick, or one for all of them."""
    if section.theta is None:
        return [document.query.in_units(threshold(secret_pairs(section, document)))]
    written = section.theta if isinstance(section.theta, list) else [section.theta]
    return [_in_units(one, document.query) for one in written]


def secret_pairs(section: PolicySection, document: DocumentSection) -> list[Pair]:
    """Return the secret pairs of a policy that has no theta."""
    query = document.query
    vocabulary = Vocabulary(query.kind, query.unit, document.activities or ())
    return vocabulary.pairs(section.between, section.pairs)


def _in_units(written: Threshold, query: QuerySection) -> int:
    number, unit = written
    if unit is not None and unit != query.unit:
        expected = "without one" if query.unit is None else f"in {query.unit}, as query.unit says"
        raise UnusableField("theta", f"is in another unit than the query; write it {expected}")
    return query.in_units(number)


def _activities(section: PolicySection, document: DocumentSection) -> tuple[str, ...]:
    named = section.activities or []
    for place, activity in enumerate(named):
        if activity not in (document.activities or []):
            raise UnusableField(
                f"activities.{place}", "is not one of the activities of the document; add it there"
            )
        if activity in named[:place]:
            raise UnusableField(f"activities.{place}", "is named twice; delete one of the two")
    if section.theta is None and document.query.kind == "multi_histogram":
        return _in_pairs(section, document)
    return tuple(named)


def _in_pairs(section: PolicySection, document: DocumentSection) -> tuple[str, ...]:
    """Return the activities that secret pairs change, in the order of the document."""
    changed = flipped(secret_pairs(section, document))
    if section.activities is not None and set(section.activities) != changed:
        raise UnusableField("activities", "are others than those that the pairs change; delete it")
    return tuple(name for name in document.activities or () if name in changed)


def _when(section: PolicySection, zone_name: str) -> When:
    if section.calendar is not None:
        calendar = section.calendar
        return Calendar(
            zone(zone_name),
            tuple(sorted({WEEKDAYS.index(day) for day in calendar.days})),
            _seconds(calendar.start),
            _seconds(calendar.end),
            calendar.from_,
            calendar.until,
            tuple(sorted(set(calendar.except_))),
        )
    assert section.interval is not None
    start, end = local(section.interval.start, zone_name), local(section.interval.end, zone_name)
    if end <= start:
        raise UnusableField("interval.end", "must be after start")
    return Once(zone(zone_name), start, end)


def local(moment: datetime, zone_name: str) -> datetime:
    """Return what clocks of the zone show, without an offset."""
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(zone_info(zone_name)).replace(tzinfo=None)


def _seconds(of_day: time) -> int:
    return (of_day.hour * 60 + of_day.minute) * 60 + of_day.second
