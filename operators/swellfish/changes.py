"""All changes of policies so far as bytes, for the state of a stream: what differs from what is
configured, and only as far as it still matters.

A zone is written once, however many policies have it. An added policy is forgotten when none of its
occurrences overlaps the current tick, a later one, or an interval that is open: it no longer counts
for any sensitivity, or for any delta(J) that can still be asked for. A configured policy that was
removed is remembered, since it is configured for ever.

>>> from datetime import datetime
>>> from fugu.operators.swellfish.calendar import Once
>>> from fugu.operators.swellfish.change import Change
>>> from fugu.operators.swellfish.temporal_sensitivity import Query
>>> from fugu.operators.swellfish.timeline import Policies
>>> from fugu.operators.swellfish.zone import Zone
>>> timeline = Policies(3_600_000, Query("count", 1), (Collection("home", ()),))
>>> span = Once(Zone("UTC", ((0, 0),)), datetime(1970, 1, 1, 2), datetime(1970, 1, 1, 6))
>>> tea = Change("home", 0, removes=None, adds=Policy("tea", span, 1, (1,)))
>>> planned = timeline.changed(b"", tea.to_bytes(), now=1)
>>> decoded(planned, timeline.collections)["home"][0].first
1
>>> timeline.changed(planned, Change("home", 0, removes="tea", adds=None).to_bytes(), now=2)
b''

Source: Swellfish specification, section 2 (life cycle).
"""

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
    """Nothing where nothing was changed."""
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
    """What was encoded, given the configured collections."""
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
    """Without what no tick from `now` on depends on."""
    if all(one.configured for one in admitted):
        return admitted
    oldest = min([now, *(start for start, _ in open_spans(admitted, now, tick_milliseconds))])
    return tuple(
        one
        for one in admitted
        if one.configured or any(True for _ in one.occurrences(oldest, tick_milliseconds))
    )


def policy_data(policy: Policy, zones: list[object]) -> dict[str, Any]:
    """Of the policy, with its zone put among `zones`, and its place there in the data."""
    data = policy.to_data()
    zone = data["when"]["zone"]
    if zone not in zones:
        zones.append(zone)
    data["when"]["zone"] = zones.index(zone)
    return data


def _policy(data: dict[str, Any], zones: list[Zone]) -> Policy:
    """The reverse of `policy_data`."""
    zone = zones[data["when"]["zone"]]
    return Policy.from_data({**data, "when": {**data["when"], "zone": zone}})


def _parted(admitted: tuple[Admitted, ...]) -> tuple[list[Admitted], list[Admitted]]:
    """Those that are configured, and the others."""
    return (
        [one for one in admitted if one.configured],
        [one for one in admitted if not one.configured],
    )
