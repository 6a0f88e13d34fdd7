"""Say whether a state goes on where the time zone database has changed."""

from collections.abc import Iterable, Mapping

from fugu.dataflows.base.errors import NEW_PIPELINE, StartRefused
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.wording import moment
from fugu.operators.swellfish.policy import Collection
from fugu.operators.swellfish.zone import DAY, Zone

Transitions = dict[str, list[tuple[int, int]]]
"""When the clocks of zones change, by the names of the zones, as a fingerprint holds it."""


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
