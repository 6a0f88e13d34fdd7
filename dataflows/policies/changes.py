"""Read changes of policies, and go on where the time zone database has changed.

The key of a record says what the change is about, and its value says how.

Key `household/shower`; a value that adds or replaces the policy, and one that removes it:

    {"effective": "2026-03-01T00:00:00+01:00", "policy": {"id": "shower", ...as in documents...}}
    {"effective": 2951424, "remove": true}

Key `holiday-homes`; a value that makes this collection, and one that moves people to it:

    {"effective": ..., "collection": {"policies": [...as in the document...]}}
    {"effective": ..., "keys": ["meter-7"]}

`effective` is a time, or the number of a tick. Without a value the policy goes as soon as it can.
What owners sign has a `sequence` besides, a larger one each time.
"""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Annotated, Literal

import orjson
from pydantic import Field, ValidationError

from fugu.dataflows.base.errors import NEW_PIPELINE, FuguError, StartRefused, UnusableField
from fugu.dataflows.base.problems import problems
from fugu.dataflows.base.section import Section
from fugu.dataflows.policies.course import moment
from fugu.dataflows.policies.document import PolicyDocument, policy_of
from fugu.dataflows.policies.fields import LAST_SECOND, TickOrInstant
from fugu.dataflows.policies.sections import Name, PolicySection
from fugu.operators.swellfish.calendar import DAY, Zone
from fugu.operators.swellfish.changes import AnyChange, Change, MovedKeys, NewCollection
from fugu.operators.swellfish.policy import Collection, Policy


class UnusableChange(FuguError):
    """Report that a record is no change; name the policy and the field."""

    @property
    def place(self) -> str:
        """Return policy and field of the first problem, without its advice."""
        parts = str(self).splitlines()[0].split(": ")
        return ": ".join(parts[:-1][:2])


class NewCollectionSection(Section):
    """Hold the policies of a collection that is made."""

    policies: list[PolicySection]


class ChangeSection(Section):
    """Hold the value of a record."""

    effective: TickOrInstant
    policy: PolicySection | None = None
    remove: Literal[True] | None = None
    collection: NewCollectionSection | None = None
    keys: Annotated[list[Name], Field(min_length=1, fail_fast=True)] | None = None
    sequence: Annotated[int, Field(ge=1, lt=2**53)] | None = None

    def require_one_of(self, first: str, second: str, advice: str) -> None:
        """Raise `UnusableField` unless just one of these two is there, and no other one."""
        names = ("policy", "remove", "collection", "keys")
        told = {name for name in names if getattr(self, name) is not None}
        if told not in ({first}, {second}):
            raise UnusableField("value", advice)


_KEY = re.compile(rb"([a-zA-Z0-9._-]{1,249})(?:/([a-zA-Z0-9._-]{1,249}))?")
_AS_SOON_AS_POSSIBLE = 0
_LARGEST_BYTES = 16_384
_LONGEST_WORD = 40
_MOST_PROBLEMS = 5


def change(
    key: bytes | None,
    value: bytes | None,
    document: PolicyDocument,
    *,
    owner: bool = False,
    timestamp: int = 0,
) -> AnyChange:
    """Read the change of a record, signed by an owner or not; `UnusableChange` if there is none.

    `timestamp` is that of the record, in milliseconds since 1970.
    """
    collection, policy = _named(key)
    sent = max(0, timestamp // document.section.grid.milliseconds)
    if value is None and policy is not None:
        return Change(collection, _AS_SOON_AS_POSSIBLE, policy, adds=None, owner=owner, sent=sent)
    if value is None:
        raise UnusableChange(
            f"{collection}: value: is none, and collections stay; remove the policies one by one"
        )
    name = collection if policy is None else f"{collection}/{policy}"
    if len(value) > _LARGEST_BYTES:
        raise UnusableChange(
            f"{name}: value: takes more than {_LARGEST_BYTES:,} bytes; shorten it, or write "
            "several changes"
        )
    section = _section(name, value)
    try:
        effective = _tick(section.effective, document)
        told: AnyChange
        if policy is None:
            told = _of_collection(section, collection, effective, document)
        else:
            told = Change(collection, effective, policy, _adds(section, policy, document))
    except UnusableField as error:
        raise UnusableChange(f"{name}: {error}") from None
    return replace(told, owner=owner, sequence=section.sequence or 0, sent=sent)


def _section(name: str, value: bytes) -> ChangeSection:
    try:
        return ChangeSection.model_validate(orjson.loads(value))
    except orjson.JSONDecodeError:
        raise UnusableChange(f"{name}: value: is not valid JSON") from None
    except ValidationError as error:
        found = [
            f"{name}: {_shown(location) or 'value'}: {advice}"
            for location, advice in islice(problems(error, ChangeSection), _MOST_PROBLEMS)
        ]
        raise UnusableChange("\n".join(dict.fromkeys(found))) from None


def _adds(section: ChangeSection, policy: str, document: PolicyDocument) -> Policy | None:
    """Return the policy that is added, or None where one is removed."""
    section.require_one_of("policy", "remove", 'write either "policy": {...} or "remove": true')
    if section.policy is None:
        return None
    if section.policy.id != policy:
        raise UnusableField("policy.id", "is not that of the key; write the same one")
    return _policy("policy", section.policy, document)


def _of_collection(
    section: ChangeSection, collection: str, effective: int, document: PolicyDocument
) -> NewCollection | MovedKeys:
    section.require_one_of(
        "collection", "keys", 'write either "collection": {...} or "keys": [...]'
    )
    if section.collection is not None:
        policies = tuple(
            _policy(f"collection.policies.{place}", one, document)
            for place, one in enumerate(section.collection.policies)
        )
        _require_distinct("collection.policies", [one.id for one in policies])
        return NewCollection(collection, effective, policies)
    keys = section.keys or []
    _require_distinct("keys", keys)
    if any(document.collection_of(key.encode()) is None for key in keys):
        raise UnusableField("keys", "must have a collection in the policy document; add it there")
    return MovedKeys(collection, effective, tuple(keys))


def _policy(field: str, section: PolicySection, document: PolicyDocument) -> Policy:
    try:
        return policy_of(section, document.section)
    except UnusableField as error:
        raise UnusableField(f"{field}.{error.field}", error.advice) from None
    except ValueError as error:
        raise UnusableField(field, str(error)) from None


def _require_distinct(field: str, names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise UnusableField(field, "names one twice; delete one of the two")


def _shown(location: Sequence[object]) -> str:
    """Write a place in a record; names that come from the record are kept short."""
    parts = (str(part)[:_LONGEST_WORD] for part in location)
    return ".".join("".join(c if c.isprintable() else "?" for c in part) for part in parts)


def _named(key: bytes | None) -> tuple[str, str | None]:
    """Return collection and policy; whether the collection is there, or made, the state knows."""
    match = _KEY.fullmatch(key or b"")
    if match is None:
        raise UnusableChange(
            "key: write COLLECTION/POLICY, such as household/shower, or the name of a collection"
        )
    return match[1].decode(), None if match[2] is None else match[2].decode()


def _tick(effective: int | datetime, document: PolicyDocument) -> int:
    """Return the first tick that begins then or later."""
    tick = document.section.grid.milliseconds
    if isinstance(effective, int):
        last = LAST_SECOND * 1000 // tick
        if not 0 <= effective < last:
            raise UnusableField("effective", f"must be a tick from 0 to {last - 1:,}, or a time")
        return effective
    return -(-int(effective.timestamp()) * 1000 // tick)


log = logging.getLogger(__name__)

Transitions = dict[str, list[tuple[int, int]]]
"""When the clocks of zones change, by the names of the zones, as a state holds it."""


@dataclass(frozen=True)
class Clocks:
    """Hold when the clocks that a document's policies go by change, in the database of today."""

    document: PolicyDocument
    transitions: Transitions

    @classmethod
    def of(cls, document: PolicyDocument) -> "Clocks":
        """Return the clocks of a document."""
        return cls(document, transitions_of(document.policies.collections))

    def require_settled(self, before: Mapping[str, list[tuple[int, int]]], settled: int) -> None:
        """Let a state go on that went by the clocks of `before`, and say so in the log; refuse
        where a tick up to `settled` would mean another time."""
        found = moved(before, self.transitions)
        require_later(found, self.document, settled)
        for name, second in found.items():
            begins = moment(
                second * 1000 // self.document.policies.tick_milliseconds, self.document
            )
            log.info(
                "policies: the time zone database has other clock changes for %s from %s on; no "
                "tick before is moved, so the state goes on by the new ones",
                name,
                begins,
            )


def transitions_of(collections: Iterable[Collection]) -> Transitions:
    """Return when the clocks of all zones change that these policies go by."""
    zones = {policy.when.zone for collection in collections for policy in collection.policies}
    return {zone.name: list(zone.transitions) for zone in sorted(zones, key=lambda one: one.name)}


def moved(before: Mapping[str, list[tuple[int, int]]], now: Transitions) -> dict[str, int]:
    """Return the zones whose clocks change otherwise now, and the first second that differs."""
    found = {}
    for name, transitions in now.items():
        if name in before:
            former = Zone(name, tuple((second, ahead) for second, ahead in before[name]))
            second = Zone(name, tuple(transitions)).differs_from(former)
            if second is not None:
                found[name] = second
    return found


def require_later(found: Mapping[str, int], document: PolicyDocument, settled: int) -> None:
    """Refuse unless all clocks differ a day after tick `settled`, or later.

    Up to that tick figures are published, or intervals are open, by the clocks of before. What a
    span of local time means depends on the clock changes of the day around it.
    """
    milliseconds = document.policies.tick_milliseconds
    for name, second in found.items():
        if second * 1000 < (settled + 1) * milliseconds + DAY * 1000:
            begins = moment(second * 1000 // milliseconds, document)
            raise StartRefused(
                f"refusing to start: the time zone database has other clock changes for {name} "
                f"from {begins} on, and ticks up to {moment(settled + 1, document)} are published "
                "or belong to intervals that are open. Install the version of tzdata (or of the "
                "system's database) that this state ran with: with it the pipeline goes on, and "
                f"stays by the former clocks; or {NEW_PIPELINE}."
            )
