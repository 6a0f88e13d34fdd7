"""Hold how collections stand after all changes so far, as bytes in the state of a stream."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fugu.operators.swellfish.occurrences import FOR_EVER, Admitted, open_spans
from fugu.operators.swellfish.plain_data import plain_json
from fugu.operators.swellfish.policy import Collection, Policy
from fugu.operators.swellfish.zone import Zone


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
