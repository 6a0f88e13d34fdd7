"""Go on with a state where the time zone database has changed, if no settled tick is moved."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fugu.dataflows.base.errors import NEW_PIPELINE, StartRefused
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.wording import moment
from fugu.operators.swellfish.policy import Collection
from fugu.operators.swellfish.zone import DAY, Zone

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
