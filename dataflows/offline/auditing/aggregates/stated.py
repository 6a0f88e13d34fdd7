"""Choose a secret that a policy states, and a course of ticks that goes through its interval."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.kinds import PolicyOperator
from fugu.dataflows.offline.auditing.aggregates.contributions import Contribution, of_set, of_sum
from fugu.dataflows.policies.fields import zone
from fugu.operators.swellfish.calendar import Once
from fugu.operators.swellfish.changes import Change
from fugu.operators.swellfish.policy import Collection, Occurrence, Policy

_LOOKED_AT = 4
_FAR_ENOUGH = 10
_ADDED = "added-by-the-audit"
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Stated:
    """Hold an occurrence of a policy, and all of the same person that overlap it."""

    collection: Collection
    key: bytes
    policy: Policy
    occurrence: Occurrence
    overlapping: tuple[Occurrence, ...]

    def alone(self) -> dict[int, int]:
        """Return by how many units a pattern at the start of the interval changes each tick."""
        one = self.occurrence
        return {one.start + place: change for place, change in enumerate(one.thresholds)}

    def together(self) -> dict[int, int]:
        """Return the same for all that the person's policies allow within it, at their ends."""
        changes: dict[int, int] = {}
        for one in self.overlapping:
            for tick, change in _placed(one, self.occurrence).items():
                changes[tick] = changes.get(tick, 0) + change
        return changes


def _placed(one: Occurrence, within: Occurrence) -> dict[int, int]:
    """Place a pattern as late as it lies within both intervals, cut off where it does not fit."""
    start = max(one.start, min(one.end, within.end) - one.length + 1)
    return {
        start + place: threshold
        for place, threshold in enumerate(one.thresholds)
        if within.start <= start + place <= within.end
    }


def shortest(operator: PolicyOperator) -> Stated:
    """Return the shortest of the first intervals of all policies."""
    milliseconds = operator.timeline.tick_milliseconds
    found = [
        (collection, policy, occurrence)
        for collection in operator.timeline.collections
        for policy in collection.policies
        for occurrence in islice(policy.occurrences(_FAR_ENOUGH, milliseconds), _LOOKED_AT)
        if occurrence.start >= _FAR_ENOUGH and max(occurrence.thresholds) > 0
    ]
    if not found:
        raise CannotBeAudited(
            "fugu audit: no policy of the document states anything that may change, so there is "
            "nothing to attack"
        )
    collection, policy, occurrence = min(found, key=lambda one: one[2].ticks)
    overlapping = tuple(
        one
        for other in collection.policies
        for one in _overlapping(other, occurrence, milliseconds)
    )
    return Stated(collection, _key_in(operator, collection), policy, occurrence, overlapping)


def _overlapping(policy: Policy, with_one: Occurrence, milliseconds: int) -> Iterator[Occurrence]:
    for occurrence in policy.occurrences(with_one.start, milliseconds):
        if occurrence.start > with_one.end:
            return
        yield occurrence


def _key_in(operator: PolicyOperator, collection: Collection) -> bytes:
    for section in operator.policies.section.collections:
        if section.id == collection.id and section.applies_to.keys:
            return section.applies_to.keys[0].encode()
    names = (b"person%d" % number for number in range(10**6))
    return next(key for key in names if operator.policies.collection_of(key) == collection.id)


def changed_by(
    operator: PolicyOperator, field: str, policy: Policy, units: int
) -> tuple[Contribution, ...]:
    """Return two contributions that are apart by so many units of what a policy is about."""
    query = operator.query
    match query.kind:
        case "sum":
            most = min(query.lower_units + units, query.upper_units)
            return of_sum(operator, field, query.lower_units), of_sum(operator, field, most)
        case "count":
            no, yes = ((False, 0), (True, 1))
            return tuple(
                Contribution(((field, said),), ((0, counted),))
                for said, counted in ((no, yes) if units else (no, no))
            )
        case "histogram":
            last = len(operator.bins) - 1 if units else 0
            return tuple(
                Contribution(((field, operator.bins[group]),), ((group, 1),)) for group in (0, last)
            )
        case "multi_histogram":
            names: Sequence[str | int] = policy.activities or tuple(operator.bins)
            places = [operator.bins.index(name) for name in names][:units]  # type: ignore[arg-type]
            return of_set(operator, field), of_set(operator, field, places)


def addition(operator: PolicyOperator, stated: Stated, at: int) -> Change | None:
    """Return the change, right before the tick `at`, of a policy that hides everything in it; None
    where that would not count."""
    milliseconds = operator.timeline.tick_milliseconds
    if milliseconds % 1000:
        return None
    start = _EPOCH + timedelta(milliseconds=at * milliseconds)
    when = Once(zone(UTC.tzname(None)), start, start + timedelta(milliseconds=milliseconds))
    most = operator.timeline.largest_sensitivity
    added = Policy(_ADDED, when, 1, (most,))
    change = Change(stated.collection.id, at, None, added)
    decision = operator.timeline.decision(b"", change.to_bytes(), at - 1)
    return change if decision.first == (at, at) else None
