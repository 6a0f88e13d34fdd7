"""Read policy documents in YAML or JSON, and build the policies that operators know.

`UnusableField` names the field of a policy, as in `pattern.ticks`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import chain, islice
from pathlib import Path

from fugu.dataflows.base.errors import ConfigurationError, UnusableField
from fugu.dataflows.base.problems import Location
from fugu.dataflows.files.yaml_file import YamlFile
from fugu.dataflows.policies.fields import OwnerSection, Threshold, Vocabulary, zone, zone_info
from fugu.dataflows.policies.sections import (
    MOST_TICKS,
    WEEKDAYS,
    DocumentSection,
    LimitsSection,
    PatternSection,
    PolicySection,
    QuerySection,
)
from fugu.operators.swellfish.bounds import usual
from fugu.operators.swellfish.calendar import Calendar, Once, When
from fugu.operators.swellfish.policy import UNDECLARED, Collection, Limits, Noise, Policy
from fugu.operators.swellfish.relevance import Pair, Query, flipped, threshold
from fugu.operators.swellfish.timeline import Policies

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


def policy_of(section: PolicySection, document: DocumentSection) -> Policy:
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


def declared_limits(section: LimitsSection | None, document: DocumentSection) -> Limits:
    """Return the limits that a section declares; `UnusableField` names the one that is wrong."""
    if section is None:
        return UNDECLARED
    noise, added, interval = section.noise, section.added, section.interval
    return Limits(
        demand=None if noise is None else _demand("noise", noise, document),
        added=None if added is None else _demand("added", added, document),
        interval=None if interval is None else _ticks(interval, document),
        policies=section.policies,
    )


def undeclared_limits(document: DocumentSection, collections: Sequence[Collection]) -> Limits:
    """Return the limits where nothing is declared; a day is as long as clocks make it."""
    policies = [collection.policies for collection in collections]
    limits = usual(policies, query(document), document.grid.milliseconds)
    return replace(limits, interval=max(limits.longest, _ticks(timedelta(days=1), document)))


def noise(document: DocumentSection) -> Noise:
    """Return how noise is written: in the unit of the query."""
    of_one = Fraction(document.query.resolution) / Fraction(document.epsilon)
    return Noise(float(of_one), document.query.unit or "")


def _demand(field: str, threshold: Threshold, document: DocumentSection) -> int:
    """Return what noise of this scale is in units, times epsilon."""
    number, unit = threshold
    if unit is not None and unit != document.query.unit:
        expected = document.query.unit
        written = "without one" if expected is None else f"in {expected}, as query.unit says"
        raise UnusableField(field, f"is in another unit than the query; write it {written}")
    resolution: Decimal = document.query.resolution
    return int(Fraction(number) * Fraction(document.epsilon) / Fraction(resolution))


def _ticks(local: timedelta, document: DocumentSection) -> int:
    """Return how many ticks a span of local clocks touches at most, when they are put back."""
    clocks = zone(document.grid.zone)
    return (local + timedelta(seconds=clocks.most - clocks.least)) // document.grid.tick + 2


class PolicyDocument:
    """Hold policies together with whose they are."""

    def __init__(self, section: DocumentSection, collections: tuple[Collection, ...]) -> None:
        self.section = section
        self.policies = Policies(
            section.grid.milliseconds,
            query(section),
            collections,
            notice(section, collections),
            declared_limits(section.limits, section),
            undeclared_limits(section, collections),
            noise(section),
        )
        self.zone = zone_info(section.grid.zone)
        self.owners = {one.name: one for _, owners in _owners(section) for one in owners}
        self._owners_of = {one.id: one.owners or [] for one in section.collections}
        self._default: str | None = None
        self._of_key: dict[bytes, str] = {}
        for collection in section.collections:
            if collection.applies_to.default:
                self._default = collection.id
            for key in collection.applies_to.keys or []:
                self._of_key[key.encode()] = collection.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PolicyDocument) and self.section == other.section

    def collection_of(self, key: bytes) -> str | None:
        """Return the policies of the individual with this key, if any."""
        return self._of_key.get(key, self._default)

    def owners_of(self, collection: str) -> list[OwnerSection]:
        """Return whose signature counts for a collection; for a later one those who own all."""
        return [*(self.section.owners or []), *self._owners_of.get(collection, [])]

    def begin(self, tick: int) -> datetime:
        """Return when a tick begins, by the clock of the grid's zone."""
        return datetime.fromtimestamp(tick * self.policies.tick_milliseconds / 1000, self.zone)

    @classmethod
    def read(cls, path: Path) -> "PolicyDocument":
        """Read and check a document; `ConfigurationError` lists all problems by line."""
        file = YamlFile.read(path, "policy document", "version: 1")
        section = file.content(DocumentSection)
        found = [file.problem(*problem) for problem in _problems(section)]
        if not found:
            made = list(_made(section, file, found))
        if found:
            raise ConfigurationError("\n".join(found))
        return cls(section, tuple(made))


def _made(section: DocumentSection, file: YamlFile, found: list[str]) -> Iterator[Collection]:
    """Yield the collections with the policies that can be made; add problems to `found`."""
    for number, collection in enumerate(section.collections):
        policies: list[Policy] = []
        for place, one in enumerate(collection.policies):
            try:
                policies.append(policy_of(one, section))
            except UnusableField as error:
                parts = [int(part) if part.isdigit() else part for part in error.field.split(".")]
                location = ["collections", number, "policies", place, *parts]
                found.append(file.problem(location, error.advice))
        owned = bool(section.owners or collection.owners)
        own = declared_limits(collection.limits, section)
        yield Collection(collection.id, tuple(policies), owned, own)


def _problems(document: DocumentSection) -> Iterator[tuple[Location, str]]:
    """Yield what does not hold across the sections of a document, each problem with its place."""
    try:
        zone(document.grid.zone)
    except ValueError as error:
        yield ["grid", "zone"], str(error)
    else:
        yield from _limits([], document.limits, document)
        for number, one in enumerate(document.collections):
            yield from _limits(["collections", number], one.limits, document)
    yield from _two_of_a_name(document)
    first: dict[object, str] = {}
    for name, place, advice in _names(document):
        if name in first:
            yield ["collections", *place], first[name]
        else:
            first[name] = advice


def _limits(
    place: Location, section: LimitsSection | None, document: DocumentSection
) -> Iterator[tuple[Location, str]]:
    try:
        declared_limits(section, document)
    except UnusableField as error:
        yield [*place, "limits", error.field], error.advice


def _owners(document: DocumentSection) -> Iterator[tuple[Location, list[OwnerSection]]]:
    yield ["owners"], document.owners or []
    for number, one in enumerate(document.collections):
        yield ["collections", number, "owners"], one.owners or []


def _two_of_a_name(document: DocumentSection) -> Iterator[tuple[Location, str]]:
    """Yield owners whose name is that of another key: a signature names its owner."""
    known: dict[str, OwnerSection] = {}
    for place, owners in _owners(document):
        for number, one in enumerate(owners):
            if known.setdefault(one.name, one) != one:
                advice = f"{one.name} has another key elsewhere; every key needs a name of its own"
                yield [*place, number, "name"], advice


def _names(document: DocumentSection) -> Iterator[tuple[object, Location, str]]:
    """Yield all that may be written once, its place, and what to say of the same name later."""
    collections = list(enumerate(document.collections))
    for number, one in collections:
        yield ("collection", one.id), [number, "id"], f"collection {number + 1} has this id already"
    for number, one in collections:
        for place, policy in enumerate(one.policies):
            advice = f"policy {place + 1} of the collection has this id already"
            yield (number, policy.id), [number, "policies", place, "id"], advice
    for number, one in collections:
        for place, key in enumerate(one.applies_to.keys or []):
            advice = f"is a key of {one.id} already; every key has one collection"
            yield ("key", key), [number, "applies_to", "keys", place], advice
    for number, one in collections:
        if one.applies_to.default:
            advice = f"{one.id} is for everybody else already; write {{keys: [...]}}"
            yield "default", [number, "applies_to", "default"], advice
