"""List what is in force at a tick: policies, configured, added or about to leave, and moves."""

from collections.abc import Iterator
from dataclasses import dataclass

from fugu.dataflows.policies.document import PolicyDocument
from fugu.operators.swellfish.occurrences import FOR_EVER, Admitted, Span
from fugu.operators.swellfish.policy import Policy


@dataclass(frozen=True)
class InForce:
    """Hold a policy that counts at a tick or later.

    `since`: the first tick at which an occurrence may begin, None for a configured one; `until`:
    the tick from which on none begins any more, if there is one; `now`: the interval that is open;
    `following`: the next one.
    """

    collection: str
    policy: Policy
    since: int | None
    until: int | None
    now: Span | None
    following: Span | None

    @property
    def name(self) -> str:
        """Return collection and policy, as the key of a change has them."""
        return f"{self.collection}/{self.policy.id}"


@dataclass(frozen=True)
class Moved:
    """Hold whose key has another collection than the document says, from which tick on."""

    key: str
    collection: str
    since: int


def moved(document: PolicyDocument, changes: bytes) -> list[Moved]:
    """Return all moves that count now or later, by their keys and ticks."""
    found = [
        Moved(key, name, since)
        for name, standing in document.policies.standings(changes).items()
        for key, since in standing.keys.items()
    ]
    return sorted(found, key=lambda one: (one.key, one.since))


def in_force(document: PolicyDocument, changes: bytes, tick: int) -> Iterator[InForce]:
    """Yield all policies that have an interval at this tick or later, collection by collection."""
    for collection, standing in document.policies.standings(changes).items():
        for one in standing.admitted:
            found = _in_force(collection, one, tick, document.policies.tick_milliseconds)
            if found.now is not None or found.following is not None:
                yield found


def _in_force(collection: str, one: Admitted, tick: int, tick_milliseconds: int) -> InForce:
    now = next(iter(one.overlapping(tick, tick, tick_milliseconds)), None)
    return InForce(
        collection,
        one.policy,
        None if one.configured else one.first,
        None if one.until == FOR_EVER else one.until,
        None if now is None else (now.start, now.end),
        one.next_span(tick + 1, tick_milliseconds),
    )
