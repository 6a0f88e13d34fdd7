"""All changes of policies so far, as bytes in the state of a stream."""

import json
from collections.abc import Mapping
from typing import Any

from fugu.operators.swellfish.occurrences import FOR_EVER, Admitted, open_spans
from fugu.operators.swellfish.plain_data import plain_json
from fugu.operators.swellfish.policy import Collection, Policy
from fugu.operators.swellfish.zone import Zone

Admissions = Mapping[str, tuple[Admitted, ...]]
"""The policies of every collection."""


def encoded(admissions: Admissions) -> bytes:
    """Encode what differs from what is configured; nothing where nothing was changed.

    A zone is written once, however many policies have it. A configured policy that was removed is
    remembered, since it is configured for ever.
    """
    zones: list[object] = []
    content: dict[str, object] = {}
    for name, admitted in sorted(admissions.items()):
        configured, added = _parted(admitted)
        removed = {one.policy.id: one.until for one in configured if one.until != FOR_EVER}
        if removed or added:
            policies = [[policy_data(one.policy, zones), one.first, one.until] for one in added]
            content[name] = {"removed": removed, "added": policies}
    return plain_json({"collections": content, "zones": zones}) if content else b""


def decoded(changes: bytes, collections: tuple[Collection, ...]) -> Admissions:
    """Decode changes, given the configured collections."""
    content = json.loads(changes or b'{"collections": {}, "zones": []}')
    zones = [Zone.from_data(zone) for zone in content["zones"]]
    admissions = {}
    for collection in collections:
        changed = content["collections"].get(collection.id, {"removed": {}, "added": []})
        configured = [
            Admitted(policy, until=changed["removed"].get(policy.id, FOR_EVER))
            for policy in collection.policies
        ]
        added = [
            Admitted(_policy(data, zones), first, until) for data, first, until in changed["added"]
        ]
        admissions[collection.id] = (*configured, *added)
    return admissions


def still_needed(
    admitted: tuple[Admitted, ...], now: int, tick_milliseconds: int
) -> tuple[Admitted, ...]:
    """Drop what no tick from `now` on depends on.

    An added policy is dropped when none of its occurrences overlaps the current tick, a later one,
    or an interval that is open: it no longer counts for any sensitivity, or for any delta(J) that
    can still be asked for. Source: Swellfish specification, section 2 (life cycle).
    """
    if all(one.configured for one in admitted):
        return admitted
    oldest = min([now, *(start for start, _ in open_spans(admitted, now, tick_milliseconds))])
    return tuple(
        one
        for one in admitted
        if one.configured or any(True for _ in one.occurrences(oldest, tick_milliseconds))
    )


def policy_data(policy: Policy, zones: list[object]) -> dict[str, Any]:
    """Return the data of a policy, with its zone moved to `zones` and a place there instead."""
    data = policy.to_data()
    zone = data["when"]["zone"]
    if zone not in zones:
        zones.append(zone)
    data["when"]["zone"] = zones.index(zone)
    return data


def _policy(data: dict[str, Any], zones: list[Zone]) -> Policy:
    zone = zones[data["when"]["zone"]]
    return Policy.from_data({**data, "when": {**data["when"], "zone": zone}})


def _parted(admitted: tuple[Admitted, ...]) -> tuple[list[Admitted], list[Admitted]]:
    return (
        [one for one in admitted if one.configured],
        [one for one in admitted if not one.configured],
    )
