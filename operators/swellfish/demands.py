"""Compute what one collection asks of ticks, with all of its policies and without each one."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from fugu.operators.swellfish.occurrence import Occurrence
from fugu.operators.swellfish.occurrences import Admitted, Span
from fugu.operators.swellfish.policy import Policy
from fugu.operators.swellfish.temporal_sensitivity import Query


@dataclass(frozen=True, slots=True)
class Demand:
    """State what is asked of a tick: Delta_t, and the largest delta(J) of the open intervals."""

    sensitivity: int
    affected: int


@dataclass(frozen=True)
class Demands:
    """State what a collection asks of a tick, and of those after it up to the next other ones.

    `relevant`: the ids of the policies of which an interval is open; `without`: what would be asked
    without a policy, for each one that makes a difference.
    """

    tick: int
    relevant: Collection[str]
    asked: Demand
    without: Mapping[str, Demand]


class PolicyOccurrences:
    """Find which occurrences of an admitted policy, of those around [start, end], are where."""

    def __init__(self, admitted: Admitted, start: int, end: int, tick_milliseconds: int) -> None:
        self.id = admitted.policy.id
        self._all = sorted(admitted.overlapping(start, end, tick_milliseconds))
        self._starts = [one.start for one in self._all]
        self._longest = max((one.ticks for one in self._all), default=0)

    def overlapping(self, start: int, end: int) -> Sequence[Occurrence]:
        """Return those that share a tick with [start, end]."""
        first = bisect_left(self._starts, start - self._longest + 1)
        near = self._all[first : bisect_right(self._starts, end)]
        return [one for one in near if one.end >= start]


Open = Sequence[tuple[Policy, Occurrence]]
"""Occurrences that are open at a tick, each with the policy that it is of."""


class CollectionDemands:
    """Tell what a collection asks of the ticks `first` to `last`, stretch by stretch.

    A policy goes by its id: what was replaced and what replaces it are the same one.
    """

    def __init__(
        self, admitted: Sequence[Admitted], query: Query, first: int, last: int, milliseconds: int
    ) -> None:
        self._query = query
        self._relevant = [
            (one.policy, occurrence)
            for one in admitted
            for occurrence in one.overlapping(first, last, milliseconds)
        ]
        relevant = [occurrence for _, occurrence in self._relevant]
        start = min([first, *(one.start for one in relevant)])
        end = max([last, *(one.end for one in relevant)])
        self._policies = [PolicyOccurrences(one, start, end, milliseconds) for one in admitted]
        self._parts, self._affected = cache(self._parts_in), cache(self._affected_in)
        changes = {tick for one in relevant for tick in one.change_ticks()}
        self.ticks = sorted({first, *(tick for tick in changes if first <= tick <= last)})
        self.ids = list(dict.fromkeys(one.id for one in self._policies))

    def __iter__(self) -> Iterator[Demands]:
        """Yield what is asked from each of `ticks` on."""
        waiting = sorted(self._relevant, key=lambda one: -one[1].start)
        found: list[tuple[Policy, Occurrence]] = []
        for tick in self.ticks:
            found = [one for one in found if one[1].end >= tick]
            while waiting and waiting[-1][1].start <= tick:
                found.append(waiting.pop())
            yield self._at(tick, found)

    def _at(self, tick: int, found: Open) -> Demands:
        owners: dict[Span, set[str]] = {}
        for policy, one in found:
            owners.setdefault((one.start, one.end), set()).add(policy.id)
        spans = sorted(owners, key=self._affected, reverse=True)
        changes = [(policy, one.change_at(tick)) for policy, one in found]
        relevant = {policy.id for policy, _ in found}
        asked = Demand(self._sensitivity(changes), self._most(spans))
        without = {}
        for name in relevant.union(*map(self._parts, spans[:1])):
            others = [span for span in spans if owners[span] != {name}]
            sensitivity = asked.sensitivity
            if name in relevant:
                sensitivity = self._sensitivity([one for one in changes if one[0].id != name])
            demand = Demand(sensitivity, self._most(others, name))
            if demand != asked:
                without[name] = demand
        return Demands(tick, relevant, asked, without)

    def _sensitivity(self, changes: Sequence[tuple[Policy, int]]) -> int:
        """Return Delta_t."""
        return self._query.sensitivity(
            [change for _, change in changes], [policy.activities for policy, _ in changes]
        )

    def _most(self, spans: Iterable[Span], without: str = "") -> int:
        """Return the largest delta(J); the largest ones with all policies come first."""
        most = 0
        for span in spans:
            if most >= self._affected(span):
                break
            most = max(most, self._affected(span, without))
        return most

    def _affected_in(self, span: Span, without: str = "") -> int:
        """Return delta(J)."""
        parts = self._parts(span)
        return min(sum(parts.values()) - parts.get(without, 0), span[1] - span[0] + 1)

    def _parts_in(self, span: Span) -> Mapping[str, int]:
        """Return what each policy adds to delta(J), if anything."""
        parts: dict[str, int] = {}
        for policy in self._policies:
            for one in policy.overlapping(*span):
                parts[policy.id] = parts.get(policy.id, 0) + one.affected_in(*span)
        return parts
