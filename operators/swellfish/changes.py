"""Define changes of policies, and hold how collections stand after all changes so far."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fugu.operators.swellfish.calendar import PlainData, Zone, plain_json
from fugu.operators.swellfish.policy import FOR_EVER, Admitted, Collection, Policy, open_spans


@dataclass(frozen=True)
class Change(PlainData):
    """Remove the policy with the id `removes` from a collection, add the policy `adds`, or both.

    It is in effect from tick `effective` on; with both, the policy that it adds replaces the one
    with the same id. `owner`: an owner of the collection has signed it, as number `sequence` of the
    own changes. `sent`: the tick at which it was written. Raises `ValueError` where it has neither
    policy, or two ids.

    >>> gone = Change("home", 7, removes="sauna", adds=None)
    >>> change_of(gone.to_bytes()) == gone
    True
    """

    collection: str
    effective: int
    removes: str | None
    adds: Policy | None
    owner: bool = False
    sequence: int = 0
    sent: int = 0

    def __post_init__(self) -> None:
        if self.removes is None and self.adds is None:
            raise ValueError("adds: must be a policy, or removes the id of one, or both")
        if self.removes is not None and self.adds is not None and self.removes != self.adds.id:
            raise ValueError("removes: must be the id of the policy that comes instead")

    @property
    def policy_id(self) -> str:
        """Return the id of the policy that it is about."""
        return self.removes or "" if self.adds is None else self.adds.id

    @property
    def key(self) -> str:
        """Return the key of its record."""
        return f"{self.collection}/{self.policy_id}"

    @property
    def subject(self) -> str:
        """Return what it is about, for messages."""
        return f"policy {self.policy_id}"

    @property
    def added(self) -> tuple[Policy, ...]:
        """Return all policies that it adds."""
        return () if self.adds is None else (self.adds,)


class AboutCollection:
    """Name what is about a whole collection."""

    collection: str

    @property
    def key(self) -> str:
        """Return the key of its record."""
        return self.collection

    @property
    def subject(self) -> str:
        """Return what it is about, for messages."""
        return f"collection {self.collection}"


@dataclass(frozen=True)
class NewCollection(AboutCollection, PlainData):
    """Make a collection of these policies, which count from tick `effective` on.

    If an owner of all collections has signed it, it is owned. Raises `ValueError` naming the field.
    """

    collection: str
    effective: int
    policies: tuple[Policy, ...]
    owner: bool = False
    sequence: int = 0
    sent: int = 0

    def __post_init__(self) -> None:
        Collection(self.collection, self.policies)

    @property
    def added(self) -> tuple[Policy, ...]:
        """Return all policies that it adds."""
        return self.policies


@dataclass(frozen=True)
class MovedKeys(AboutCollection, PlainData):
    """Give the people with these keys another collection, from tick `effective` on.

    Raises `ValueError` naming the field.
    """

    collection: str
    effective: int
    keys: tuple[str, ...]
    owner: bool = False
    sequence: int = 0
    sent: int = 0

    def __post_init__(self) -> None:
        if not self.keys or len(set(self.keys)) < len(self.keys):
            raise ValueError("keys: must be at least one, and each once")

    @property
    def added(self) -> tuple[Policy, ...]:
        """Return all policies that it adds: none."""
        return ()


AnyChange = Change | NewCollection | MovedKeys


def noticed(change: AnyChange, now: int, notice: int) -> int:
    """Return the tick from which on a change may take protection away.

    The notice begins when the change is known, and when it was sent, whichever is later. After a
    long silence the next tick is an old one, and nobody can object to what was sent since.
    """
    return max(change.effective, max(now, change.sent) + notice)


def change_of(content: bytes) -> AnyChange:
    """Read a change from JSON; `ValueError` names the policy and the field.

    Version 1 knew of no owners: a change without these members is that of a stranger.
    """
    try:
        data = json.loads(content)
    except ValueError:
        raise ValueError("change: must be JSON") from None
    if not isinstance(data, dict):
        raise ValueError("change: must be an object")
    data = {"owner": False, "sequence": 0, "sent": 0} | data
    if "policies" in data:
        return NewCollection.from_data(data)
    return MovedKeys.from_data(data) if "keys" in data else Change.from_data(data)


@dataclass(frozen=True)
class Standing:
    """Hold how a collection stands: its policies, and what else was decided about it.

    `owned`: nobody but an owner takes anything away; `sequence`: the number of the last change by
    an owner; `made`: it came by a change; `keys`: whose keys were moved to it, from which tick on.
    """

    admitted: tuple[Admitted, ...] = ()
    owned: bool = False
    sequence: int = 0
    made: bool = False
    keys: Mapping[str, int] = field(default_factory=dict)

    def forgetful(self, now: int, tick_milliseconds: int) -> "Standing":
        """Drop the policies that no tick from `now` on depends on.

        An added policy is dropped when none of its occurrences overlaps the current tick, a later
        one, or an interval that is open: it no longer counts for any sensitivity, or for any
        delta(J) that can still be asked for. Source: Swellfish specification, section 2 (life
        cycle).
        """
        if all(one.configured for one in self.admitted):
            return self
        spans = open_spans(self.admitted, now, tick_milliseconds)
        oldest = min([now, *(start for start, _ in spans)])
        needed = (
            one
            for one in self.admitted
            if one.configured or any(True for _ in one.spans(oldest, tick_milliseconds))
        )
        admitted = tuple(needed)
        return self if admitted == self.admitted else replace(self, admitted=admitted)


Standings = Mapping[str, Standing]
"""Every collection, by its id."""


def encoded(standings: Standings) -> bytes:
    """Encode what differs from what is configured; nothing where nothing was changed.

    A zone is written once, however many policies have it. A configured policy that was removed is
    remembered, since it is configured for ever.
    """
    zones: list[dict[str, object]] = []
    content = {name: _content(standing, zones) for name, standing in sorted(standings.items())}
    content = {name: changed for name, changed in content.items() if any(changed.values())}
    return plain_json({"collections": content, "zones": zones}) if content else b""


def size(standing: Standing) -> int:
    """Return how many bytes a collection takes where changes are encoded, without zones."""
    return len(plain_json(_content(standing, [])))


def decoded(changes: bytes, collections: tuple[Collection, ...]) -> Standings:
    """Decode changes, given the configured collections; members that version 1 did not write are
    as at the start."""
    content = json.loads(changes or b'{"collections": {}, "zones": []}')
    zones = [Zone.from_data(zone) for zone in content["zones"]]
    configured = {collection.id: collection for collection in collections}
    changed: Mapping[str, Any] = content["collections"]
    standings = {
        name: _standing(configured.get(name), changed.get(name, {}), zones)
        for name in configured.keys() | changed.keys()
    }
    return in_order(standings, collections)


def in_order(standings: Standings, collections: tuple[Collection, ...]) -> Standings:
    """Return the configured collections first, as they are configured, and then the others by
    name."""
    configured = [collection.id for collection in collections]
    made = sorted(standings.keys() - set(configured))
    return {name: standings[name] for name in [*configured, *made]}


def policy_data(policy: Policy, zones: list[dict[str, object]]) -> dict[str, Any]:
    """Return the data of a policy, with its zone moved to `zones` and a place there instead."""
    data = policy.to_data()
    zone = data["when"]["zone"]
    if zone not in zones:
        zones.append(zone)
    data["when"]["zone"] = zones.index(zone)
    return data


def _content(standing: Standing, zones: list[dict[str, object]]) -> dict[str, object]:
    """Return what changed: empty members where nothing did."""
    configured = [one for one in standing.admitted if one.configured]
    added = [one for one in standing.admitted if not one.configured]
    content: dict[str, object] = {
        "removed": {one.policy.id: one.until for one in configured if one.until != FOR_EVER},
        "added": [[policy_data(one.policy, zones), one.first, one.until] for one in added],
    }
    if standing.sequence:
        content["sequence"] = standing.sequence
    if standing.keys:
        content["keys"] = dict(standing.keys)
    if standing.made:
        content["made"] = "owned" if standing.owned else "for everybody"
    return content


def _standing(
    collection: Collection | None, content: dict[str, Any], zones: list[Zone]
) -> Standing:
    removed = content.get("removed", {})
    configured = () if collection is None else collection.policies
    added = content.get("added", [])
    return Standing(
        admitted=(
            *(Admitted(policy, until=removed.get(policy.id, FOR_EVER)) for policy in configured),
            *(Admitted(_policy(data, zones), first, until) for data, first, until in added),
        ),
        owned=content.get("made") == "owned" if collection is None else collection.owned,
        sequence=content.get("sequence", 0),
        made=collection is None,
        keys=content.get("keys", {}),
    )


def _policy(data: dict[str, Any], zones: list[Zone]) -> Policy:
    zone = zones[data["when"]["zone"]]
    return Policy.from_data({**data, "when": {**data["when"], "zone": zone}})


LARGEST_CHANGES = 2**22
LARGEST_OF_COLLECTION = 2**16
OF_EACH_COLLECTION = 2**12
"""Bytes that a collection of the document may take, however much others take."""
MOST_MADE = 1_000
"""Collections that changes make."""


def require_room(change: AnyChange, standings: Standings, in_all: int) -> None:
    """Raise `ValueError` where a collection would take too much, or take it from others.

    Where there are owners, strangers fill half of what a collection may take, and nobody takes from
    owners. `standings` are those after the change, which take `in_all` bytes.
    """
    standing = standings[change.collection]
    own, reserved = size(standing), 0 if standing.made else OF_EACH_COLLECTION
    strangers = standing.owned and not change.owner
    most = LARGEST_OF_COLLECTION // 2 if strangers else LARGEST_OF_COLLECTION
    if own > most:
        raise ValueError(
            f"{change.subject}: changes of collection {change.collection} would take more than "
            f"{most:,} bytes; remove policies, or put them into the document"
        )
    if in_all > LARGEST_CHANGES and own > reserved and not change.owner:
        raise ValueError(
            f"{change.subject}: all changes would take more than {LARGEST_CHANGES:,} bytes, and "
            f"collection {change.collection} may take {reserved:,} then; remove policies, or put "
            "them into the document"
        )
    if sum(one.made for one in standings.values()) > MOST_MADE:
        raise ValueError(
            f"{change.subject}: more than {MOST_MADE:,} collections would be made by changes; put "
            "them into the document"
        )
