"""Read changes of policies: the key of a record says which policy, its value says how.

Key `household/shower`; a value that adds or replaces the policy, and one that removes it:

    {"effective": "2026-03-01T00:00:00+01:00", "policy": {"id": "shower", ...as in the document...}}
    {"effective": 2951424, "remove": true}

`effective` is a time, or the number of a tick. Without a value the policy goes as soon as it can.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

import orjson
from pydantic import ValidationError, model_validator

from fugu.dataflows.base.errors import FuguError, UnusableField
from fugu.dataflows.base.problems import problems
from fugu.dataflows.base.section import Section
from fugu.dataflows.policies import building
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.fields import TickOrMoment
from fugu.dataflows.policies.sections import PolicySection
from fugu.operators.swellfish.change import Change


class UnusableChange(FuguError):
    """Report that a record is no change; name the policy and the field."""

    @property
    def place(self) -> str:
        """Return policy and field of the first problem, without its advice."""
        parts = str(self).splitlines()[0].split(": ")
        return ": ".join(parts[:-1][:2])


class ChangeSection(Section):
    """Hold the value of a record."""

    effective: TickOrMoment
    policy: PolicySection | None = None
    remove: Literal[True] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.policy is None) == (self.remove is None):
            raise ValueError('write either "policy": {...} or "remove": true')
        if isinstance(self.effective, datetime) and self.effective.tzinfo is None:
            raise ValueError('effective: write the zone too, such as "2026-03-01T00:00:00+01:00"')
        return self


_KEY = re.compile(rb"([a-zA-Z0-9._-]{1,249})/([a-zA-Z0-9._-]{1,249})")
_AS_SOON_AS_POSSIBLE = 0
_LARGEST_BYTES = 500_000
"""A message of the internal log may have a megabyte."""
_LONGEST_WORD = 40


def change(
    key: bytes | None, value: bytes | None, document: PolicyDocument, *, owner: bool = False
) -> Change:
    """Read the change of a record, by an owner or not; `UnusableChange` if there is none."""
    collection, policy = _named(key, document)
    if value is None:
        return Change(collection, _AS_SOON_AS_POSSIBLE, policy, adds=None, owner=owner)
    name = f"{collection}/{policy}"
    try:
        section = ChangeSection.model_validate(orjson.loads(value))
    except orjson.JSONDecodeError:
        raise UnusableChange(f"{name}: value: is not valid JSON") from None
    except ValidationError as error:
        found = [
            f"{name}: {_shown(location) or 'value'}: {advice}"
            for location, advice in problems(error, ChangeSection)
        ]
        raise UnusableChange("\n".join(dict.fromkeys(found))) from None
    effective = _tick(section.effective, document)
    if section.policy is None:
        return Change(collection, effective, policy, adds=None, owner=owner)
    if section.policy.id != policy:
        raise UnusableChange(f"{name}: policy.id: is not that of the key; write the same one")
    try:
        added = building.policy(section.policy, document.section)
    except (UnusableField, ValueError) as error:
        raise UnusableChange(f"{name}: policy.{error}") from None
    made = Change(collection, effective, policy, added, owner)
    if len(made.to_bytes()) > _LARGEST_BYTES:
        raise UnusableChange(
            f"{name}: policy: takes more than {_LARGEST_BYTES:,} bytes; shorten it"
        )
    return made


def _shown(location: Sequence[object]) -> str:
    """Write a place in a record; names that come from the record are kept short."""
    parts = (str(part)[:_LONGEST_WORD] for part in location)
    return ".".join("".join(c if c.isprintable() else "?" for c in part) for part in parts)


def _named(key: bytes | None, document: PolicyDocument) -> tuple[str, str]:
    match = _KEY.fullmatch(key or b"")
    if match is None:
        raise UnusableChange("key: write COLLECTION/POLICY, such as household/shower")
    collection, policy = match[1].decode(), match[2].decode()
    known = [one.id for one in document.policies.collections]
    if collection not in known:
        raise UnusableChange(
            "key: names a collection that is not in the policy document; those in it are "
            + ", ".join(known)
        )
    return collection, policy


def _tick(effective: int | datetime, document: PolicyDocument) -> int:
    """Return the first tick that begins then or later."""
    if isinstance(effective, int):
        return effective
    milliseconds = int(effective.timestamp()) * 1000
    return -(-milliseconds // document.section.grid.milliseconds)
