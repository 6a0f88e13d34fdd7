"""Tell which policies are in force at a tick, and which changes figures knew."""

import time
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property

import orjson

from fugu.dataflows.base.batches import Header
from fugu.dataflows.base.errors import FuguError, KafkaUnavailable
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.policies.changes import UnusableChange, change
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.signatures import Signatures
from fugu.operators.swellfish.changes import AnyChange
from fugu.operators.swellfish.policy import FOR_EVER, Admitted, Policy, Span
from fugu.operators.swellfish.timeline import Known, Unexplained, Written, explained


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


@dataclass(frozen=True)
class WrittenChange:
    """Hold a record of the topic of changes: the change, or why it is none.

    It is `certain` unless a shared secret has signed it, which only the pipeline can check.
    """

    offset: int
    timestamp: int
    change: AnyChange | None
    refused: str = ""
    certain: bool = True


@dataclass(frozen=True)
class Figure:
    """Hold which tick a figure is of, and the digest of the policies it was made with."""

    offset: int
    tick: int
    digest: bytes


@dataclass(frozen=True)
class Told:
    """Hold all records of the topic of changes, and the figures of the sanitized topic."""

    document: PolicyDocument
    written: tuple[WrittenChange, ...]
    figures: tuple[Figure, ...]
    signatures: Signatures | None = None

    @property
    def changes(self) -> list[WrittenChange]:
        """Return the records that are changes."""
        return [one for one in self.written if one.change is not None]

    @cached_property
    def known(self) -> tuple[Known, ...]:
        """Return what figures knew, whenever that changed, up to the first unexplained one."""
        return self._explained[0]

    @cached_property
    def unexplained(self) -> Figure | None:
        """Return the first figure that was made with other policies than the topics say, if any."""
        tick = self._explained[1]
        return next((one for one in self.figures if one.tick == tick), None)

    @property
    def unknown(self) -> list[WrittenChange]:
        """Return the changes that no figure knows, the last ones of the topic; none where a figure
        is unexplained, since it may know of them."""
        if self.unexplained is not None:
            return []
        return self.changes[self.known[-1].told if self.known else 0 :]

    def known_at(self, tick: int) -> Known | None:
        """Return what a figure of this tick knows; None before the first one."""
        later = bisect_right(self.known, tick, key=lambda one: one.tick)
        return self.known[later - 1] if later else None

    @cached_property
    def _explained(self) -> tuple[tuple[Known, ...], int | None]:
        written = [
            Written(one.change.to_bytes(), one.certain)
            for one in self.changes
            if one.change is not None
        ]
        figures = ((one.tick, one.digest) for one in self.figures)
        known = list[Known]()
        try:
            for one in explained(self.document.policies, written, figures):
                known.append(one)
        except Unexplained as error:
            return tuple(known), error.tick
        return tuple(known), None

    @property
    def following(self) -> int:
        """Return the tick after the last figure; before the first one, that of the clock."""
        if self.figures:
            return self.figures[-1].tick + 1
        return int(time.time() * 1000) // self.document.policies.tick_milliseconds

    def became(self) -> Iterator[tuple[WrittenChange, int, str]]:
        """Yield the changes that figures knew, the first tick that did, and what became of each."""
        timeline, changes = self.document.policies, b""
        for number, tick in self.known[-1].applied if self.known else ():
            one = self.changes[number]
            assert one.change is not None
            content = one.change.to_bytes()
            try:
                said = timeline.explained(changes, content, tick, self.document.zone)
            except ValueError as error:
                said = f"refused: {error}"
            changes = timeline.told(changes, content, tick)
            yield one, tick, said


def told(
    client: Client, document: PolicyDocument, changes: Signatures | None, figures: str
) -> Told:
    """Read both topics to their ends; a sanitized topic that is not there has no figures.

    `changes` tells owners in the topic of changes; it needs no secret.
    """
    written = [] if changes is None else list(_written(client, changes))
    found = list[Figure]()
    for figure in _figures(client, document, figures):
        if not found or figure.tick > found[-1].tick:
            found.append(figure)
    return Told(document, tuple(written), tuple(found), changes)


def _written(client: Client, signatures: Signatures) -> Iterator[WrittenChange]:
    if client.topic(signatures.topic) is None:
        raise KafkaUnavailable(
            f"topic {signatures.topic} (source.policies) does not exist; create it"
        )
    for offset, timestamp, key, value, headers in _records(client, signatures.topic):
        try:
            if_genuine = signatures.by_owner_if_genuine(key, headers)
            if if_genuine is None:
                found = signatures.read(key, value, headers, timestamp)
            else:
                document = signatures.document
                found = change(key, value, document, owner=if_genuine, timestamp=timestamp)
        except UnusableChange as error:
            yield WrittenChange(offset, timestamp, None, str(error))
        else:
            yield WrittenChange(offset, timestamp, found, certain=if_genuine is None)


def _figures(client: Client, document: PolicyDocument, name: str) -> Iterator[Figure]:
    if client.topic(name) is None:
        return
    for offset, _, _, value, _ in _records(client, name):
        try:
            figure = orjson.loads(value or b"")
            tick = figure["start"] // document.policies.tick_milliseconds
            yield Figure(offset, tick, bytes.fromhex(figure["policies"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise FuguError(
                f"topic {name}, partition 0, offset {offset}: is no figure under policies; name "
                "the topic that the pipeline publishes to"
            ) from None


def _records(
    client: Client, name: str
) -> Iterator[tuple[int, int, bytes | None, bytes | None, list[Header]]]:
    """Yield offset, timestamp, key, value and headers of all records of partition 0."""
    with closing(client.reader(name, headers=True)) as reader:
        bounds = reader.bounds([0])[0]
        for batch in reader.read_range(0, bounds.start, bounds.end):
            yield from batch.records()
