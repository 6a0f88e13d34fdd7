"""Hold the policies of all people over time, with the changes that come while a stream runs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from hashlib import blake2b
from typing import Any

from fugu.operators.swellfish.bounds import Bounds, longest
from fugu.operators.swellfish.calendar import plain_json
from fugu.operators.swellfish.changes import (
    AnyChange,
    Change,
    Standings,
    change_of,
    decoded,
    encoded,
    in_order,
    policy_data,
    require_room,
)
from fugu.operators.swellfish.decisions import Decision, decided, in_words, numbered
from fugu.operators.swellfish.policy import (
    IN_UNITS,
    UNDECLARED,
    Admitted,
    Collection,
    Limits,
    Noise,
    Policy,
)
from fugu.operators.swellfish.relevance import Query, Relevance
from fugu.operators.swellfish.strategy import first_digest, next_digest
from fugu.operators.swellfish.sweep import CollectionSweep, Sweep

_REMEMBERED = 4
"""So many changes are remembered, with how collections stand, and where their sweep is."""


@dataclass(frozen=True)
class Policies:
    """Tell what the policies of all people ask of every tick, with the changes that come.

    Each person has one collection of policies, and counts as if everybody had it: so what is asked
    of a tick is the largest of what any collection asks, and nobody has to be looked up.

    Moving a person from one collection to another one changes no number. An occurrence of the old
    one protects the person if it began before the move, and one of the new one if it begins at the
    move or later, and when all of those are over. So no interval of one overlaps an interval of the
    other, and within an interval J of either, the person has some of the occurrences of that
    collection, and no others: Delta_t and delta(J) are at most those of the collection, which are
    asked for anyway.

    Raises `ValueError` naming the field.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> [HOUSEHOLD.relevance(tick, b"").sensitivity for tick in range(8)]
    [0, 100, 320, 220, 220, 220, 0, 50]
    >>> HOUSEHOLD.relevance(2, b"").intervals
    (Interval(start=1, end=2, affected=2), Interval(start=2, end=5, affected=3))
    >>> gone = Change("home", effective=3, removes="shower", adds=None)
    >>> HOUSEHOLD.decision(b"", gone.to_bytes(), now=3)
    Decision(effective=3, first=None, waits_for=None, until=3, runs_out=(2, 5))

    Source: Swellfish specification, sections 2 to 4.
    """

    tick_milliseconds: int
    query: Query
    collections: tuple[Collection, ...]
    notice: int = 0
    """For so many ticks what is removed, or replaced by less, is protected as before."""
    limits: Limits = UNDECLARED
    """Limit what changes may make of a collection that declares no limits of its own."""
    otherwise: Limits = field(default=UNDECLARED, compare=False)
    """Limits where nothing is declared, which follow from the other fields (`bounds.usual`)."""
    noise: Noise = field(default=IN_UNITS, compare=False)
    """The form in which noise is written."""
    _sweeps: dict[bytes, Sweep] = field(init=False, repr=False, compare=False, default_factory=dict)
    _standings: dict[bytes, Standings] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        if self.tick_milliseconds < 1:
            raise ValueError("tick_milliseconds: must be at least 1")
        if self.notice < 0:
            raise ValueError("notice: must not be negative")
        if len({collection.id for collection in self.collections}) < len(self.collections):
            raise ValueError("collections: every id must be there once")
        for collection in self.collections:
            for policy in collection.policies:
                self._require_known(policy)

    @property
    def largest_sensitivity(self) -> int:
        """Return the largest change of the query."""
        return self.query.largest_change

    @property
    def longest(self) -> int:
        """Return how many ticks a relevance interval has, at most, whatever is added."""
        configured = [collection.policies for collection in self.collections]
        limits = [self._limits(collection.limits) for collection in self.collections]
        may_be_added = max(one.longest for one in [*limits, self._limits(UNDECLARED)])
        return max(may_be_added, longest(configured, self.tick_milliseconds))

    def relevance(self, tick: int, changes: bytes) -> Relevance:
        """Return the largest sensitivity of all collections, and every open interval with the
        largest delta(J) of those that have it; for ticks that know of the changes."""
        if changes not in self._sweeps:
            self._remember(changes)
        return self._sweeps[changes].at(tick)

    def by_collection(self, tick: int, changes: bytes) -> dict[str, Relevance]:
        """Return what each collection asks of a tick, by itself."""
        self.relevance(tick, changes)
        return self._sweeps[changes].of_each(tick)

    def admitted(self, changes: bytes) -> dict[str, tuple[Admitted, ...]]:
        """Return the policies of every collection, with these changes."""
        return {name: standing.admitted for name, standing in self.standings(changes).items()}

    def changed(self, changes: bytes, change: bytes, now: int) -> bytes:
        """Add a change (`decisions.decided`); `ValueError` names the policy and the field."""
        return self._changed(changes, change, now)[0]

    def told(self, changes: bytes, change: bytes, now: int) -> bytes:
        """Add a change, or only the number of an owner's one that is refused: it never counts."""
        try:
            return self.changed(changes, change, now)
        except ValueError:
            before = self.standings(changes)
            after = numbered(before, change_of(change))
            return changes if after is before else encoded(after)

    def decision(self, changes: bytes, change: bytes, now: int) -> Decision:
        """Return what `changed` decides on a change."""
        return self._changed(changes, change, now)[1]

    def explained(self, changes: bytes, change: bytes, now: int, zone: tzinfo = UTC) -> str:
        """Tell what `changed` decides on a change, in words, by the clock of a zone."""
        decision = self.decision(changes, change, now)
        return in_words(change_of(change), decision, self.tick_milliseconds, zone)

    def limits_of(self, collection: str) -> Limits:
        """Return what a change may make of a collection, be it configured or not."""
        own = (one.limits for one in self.collections if one.id == collection)
        return self._limits(next(own, UNDECLARED))

    def standings(self, changes: bytes) -> Standings:
        """Return how every collection stands after these changes."""
        if changes not in self._standings:
            _forget_oldest(self._standings)
            self._standings[changes] = decoded(changes, self.collections)
        return self._standings[changes]

    def digest(self) -> bytes:
        """Identify all fields, in 32 bytes; zones by their names, since their clock changes depend
        on the database that is installed."""
        zones: list[dict[str, object]] = []
        protection = [*self._protection(zones), [zone["name"] for zone in zones]]
        owned = [collection.id for collection in self.collections if collection.owned]
        limits = {one.id: vars(one.limits) for one in self.collections if one.limits != UNDECLARED}
        declared = [limits, vars(self.limits)] if limits or self.limits != UNDECLARED else []
        return _digest([*protection, self.notice, owned, *declared])

    def _protection(self, zones: list[dict[str, object]]) -> list[object]:
        """Return what is protected; zones are put into `zones`, and named by their places."""
        collections = {
            collection.id: [policy_data(policy, zones) for policy in collection.policies]
            for collection in self.collections
        }
        query = [self.query.kind, self.query.largest_change, self.query.activities]
        return [self.tick_milliseconds, query, collections]

    def _remember(self, changes: bytes) -> None:
        """Sweep by these changes, and go on with every collection that is the same as before."""
        newest = next(reversed(self._sweeps.values()), None)
        before = newest.collections if newest else {}
        collections = {}
        for number, (name, standing) in enumerate(self.standings(changes).items()):
            sweep, about = before.get(name), (self.query, self.tick_milliseconds, number)
            if sweep is None or sweep.admitted != standing.admitted:
                sweep = CollectionSweep(standing.admitted, *about)
            collections[name] = sweep
        _forget_oldest(self._sweeps)
        self._sweeps[changes] = Sweep(collections)

    def _changed(self, changes: bytes, change: bytes, now: int) -> tuple[bytes, Decision]:
        wanted = change_of(change)
        standings, decision = self._after(changes, wanted, now)
        needed = {
            name: standing.forgetful(now, self.tick_milliseconds)
            for name, standing in standings.items()
        }
        after = encoded(needed)
        if not (isinstance(wanted, Change) and wanted.adds is None):
            require_room(wanted, needed, len(after))
        if after not in self._standings:
            _forget_oldest(self._standings)
            self._standings[after] = in_order(needed, self.collections)
        return after, decision

    def _after(self, changes: bytes, change: AnyChange, now: int) -> tuple[Standings, Decision]:
        for policy in change.added:
            self._require_known(policy)
        before = self.standings(changes)
        after, decision = decided(before, change, now, self.notice, self.tick_milliseconds)
        try:
            self._require_within_limits(before, after, change, now)
        except ValueError as error:
            raise ValueError(f"{change.subject}: {error}{_later(decision)}") from None
        return after, decision

    def _require_within_limits(
        self, before: Standings, after: Standings, change: AnyChange, now: int
    ) -> None:
        name = change.collection
        limits = self.limits_of(name)
        if after[name].owned and not change.owner:
            limits = limits.for_strangers()
        bounds = Bounds(limits, self.query, self.tick_milliseconds, self.noise)
        known = before[name].admitted if name in before else ()
        bounds.require(known, after[name].admitted, change.added, now)

    def _limits(self, own: Limits) -> Limits:
        """Return all limits of a collection that declares these."""
        return own.completed_by(self.limits).completed_by(self.otherwise)

    def _require_known(self, policy: Policy) -> None:
        unknown = sorted(set(policy.activities) - set(self.query.activities))
        if self.query.activities and unknown:
            raise ValueError(f"policy {policy.id}: activities: the query has no {unknown[0]}")


def _later(decision: Decision) -> str:
    """Return the advice for a policy that would count beside the one that it replaces."""
    if decision.first is None or decision.until is None or decision.until <= decision.first[0]:
        return ""
    return (
        f"; or let it be effective from tick {decision.until} on: before, what it replaces counts, "
        "too"
    )


def _forget_oldest(remembered: dict[bytes, Any]) -> None:
    if len(remembered) == _REMEMBERED:
        del remembered[next(iter(remembered))]


def _digest(content: list[object]) -> bytes:
    return blake2b(plain_json(content), digest_size=32).digest()


_MOST_BRANCHES = 4096


class Unexplained(ValueError):
    """Report that no changes, in the order of their topic, give the digest of a figure."""

    def __init__(self, tick: int) -> None:
        super().__init__(
            f"tick {tick}: the figure was made with other policies than the document and the topic "
            "of changes say"
        )
        self.tick = tick


@dataclass(frozen=True)
class Written:
    """Hold a change as the topic has it; `certain` unless nobody but the pipeline can tell whether
    it was taken or refused as unreadable, because it has a signature of a shared secret."""

    change: bytes
    certain: bool = True


@dataclass(frozen=True)
class Known:
    """Hold what the figures from `tick` on know.

    `told`: how many of the written changes came before; `applied`: those among them that the
    pipeline took, as (number, first tick that knows); `changes`: what `Policies` made of them.
    """

    tick: int
    digest: bytes
    told: int = 0
    applied: tuple[tuple[int, int], ...] = ()
    changes: bytes = b""


def explained(
    timeline: Policies, written: Sequence[Written], figures: Iterable[tuple[int, bytes]]
) -> Iterator[Known]:
    """Yield what each new digest of the figures, in order of their ticks, says was known.

    The least number of further changes is taken that gives the digest, each known from the tick of
    the figure on. Raises `Unexplained` at the first figure that nothing explains.

    >>> from fugu.operators.swellfish.changes import Change
    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> gone = Change("home", effective=3, removes="vacuum", adds=None).to_bytes()
    >>> before = first_digest(HOUSEHOLD.digest())
    >>> figures = [(0, before), (1, before), (2, next_digest(before, gone, 2))]
    >>> [(one.tick, one.told) for one in explained(HOUSEHOLD, [Written(gone)], figures)]
    [(0, 0), (2, 1)]
    """
    known: Known | None = None
    for tick, digest in figures:
        if known is None:
            known = Known(tick, first_digest(timeline.digest()))
            if digest == known.digest:
                yield known
        if digest != known.digest:
            known = _after(timeline, written, replace(known, tick=tick), digest)
            yield known


def _after(timeline: Policies, written: Sequence[Written], known: Known, digest: bytes) -> Known:
    """Return what is known where further changes give this digest."""
    branches = [known]
    for number in range(known.told, len(written)):
        branches = [
            after
            for branch in branches
            for after in _either(timeline, written[number], branch, number)
        ]
        for branch in branches:
            if branch.digest == digest:
                return branch
        if len(branches) > _MOST_BRANCHES:
            break
    raise Unexplained(known.tick)


def _either(timeline: Policies, written: Written, before: Known, number: int) -> Iterator[Known]:
    """Yield what is known after a change, and, where that is not certain, without it."""
    passed = replace(before, told=number + 1)
    yield replace(
        passed,
        digest=next_digest(before.digest, written.change, before.tick),
        applied=(*before.applied, (number, before.tick)),
        changes=timeline.told(before.changes, written.change, before.tick),
    )
    if not written.certain:
        yield passed
