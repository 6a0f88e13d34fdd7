"""Compute what collections and policies ask of ticks, and attribute the noise to them."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.swellfish.policy import Admitted, Occurrence, Policy, Span
from fugu.operators.swellfish.relevance import Query, Timeline
from fugu.operators.swellfish.timeline import Policies
from fugu.operators.wevent.allocation import Booleans


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


@dataclass(frozen=True, eq=False)
class Share:
    """State what a collection, or one policy, has to do with the noise of a range of ticks."""

    relevant: Booleans
    """At which stretches one of its intervals is open."""
    ticks: int
    """At so many ticks."""
    noise: float
    """The mean noise of the ticks at which it is relevant, whoever asks for it; 0 without any."""
    saved: float
    """By how much the mean noise of all ticks would fall without it."""


@dataclass(frozen=True, eq=False)
class CollectionShare(Share):
    """State the same of a collection, and what it asks for by itself."""

    sets_sensitivity: int
    """At so many ticks nobody's Delta_t is larger; several collections may be as large."""
    sets_affected: int
    """At so many ticks nobody's largest delta(J) is larger; several may be as large."""
    alone: Floats
    """The noise of every stretch if there were no other collection."""
    own: float
    """The mean of that where it is relevant; 0 without any such tick."""
    policies: Mapping[str, Share]


@dataclass(frozen=True, eq=False)
class Attribution:
    """Hold the expected noise of ticks, in stretches of equal ticks, and whose it is.

    Amounts are in units of the query.
    """

    starts: Integers
    """The first tick of each stretch."""
    widths: Integers
    """The number of ticks of each stretch."""
    noise: Floats
    """The noise of the ticks of each stretch."""
    collections: Mapping[str, CollectionShare]

    @property
    def ticks(self) -> int:
        """Return how many ticks there are."""
        return int(self.widths.sum())

    @property
    def noisy(self) -> int:
        """Return how many ticks have noise."""
        return int(self.widths[self.noise > 0].sum())

    @property
    def mean(self) -> float:
        """Return the mean noise of all ticks."""
        return _mean(self.noise, self.widths)

    @property
    def where_noisy(self) -> float:
        """Return the mean noise of ticks that have any; 0 without them."""
        return _mean(self.noise, np.where(self.noise > 0, self.widths, 0))

    def places(self, ticks: Sequence[int]) -> Integers:
        """Return in which stretch each tick is."""
        return np.searchsorted(self.starts, ticks, "right") - 1

    def at(self, tick: int) -> tuple[float, Mapping[str, float]]:
        """Return the noise of a tick, and what each collection would have there alone."""
        [place] = self.places([tick])
        alone = {name: float(one.alone[place]) for name, one in self.collections.items()}
        return float(self.noise[place]), alone

    @property
    def most(self) -> float:
        """Return the noise of the tick that has most."""
        return float(self.noise.max())


def attribution(
    policies: Policies, first: int, last: int, epsilon: float, changes: bytes = b""
) -> Attribution:
    """Return the expected noise of ticks `first` to `last`, and whose it is.

    The expected absolute noise of a figure, if every tick that can differ has an even share of the
    budget, is Delta_t max_J delta(J) / epsilon, with J the intervals that are open at the tick: the
    mean absolute value of Laplace noise of scale Delta_t / (epsilon / max_J delta(J)). Both factors
    are the largest of all collections, and maybe of two different ones.

    `UnicornPS` has at most this noise, and `Unicorn`, which spends half of epsilon on decisions, at
    most twice as much where it publishes. A repeated figure also errs by what the truth moved.

    What would be saved without a collection or a policy is the difference to the noise without it.
    What two ask for alike is saved only without both of them, and where one sets Delta_t and the
    other delta(J), each may save most of the product: savings do not add up to the noise.

    An interval counts with the delta(J) that the policies with all `changes` give it. One that was
    open when something was removed has the delta(J) that it began with, which may be more, and its
    noise as well.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> found = attribution(HOUSEHOLD, 0, 9, epsilon=2.0)
    >>> found.noise.tolist(), found.widths.tolist()
    ([0.0, 100.0, 480.0, 330.0, 0.0, 25.0], [1, 1, 1, 3, 1, 3])
    >>> found.mean, found.collections["home"].policies["shower"].saved
    (164.5, 147.0)

    Source: Swellfish specification, sections 3, 4 and 6 (theorems 6.1 and 6.2).
    """
    demands = {
        name: CollectionDemands(admitted, policies.query, first, last, policies.tick_milliseconds)
        for name, admitted in policies.admitted(changes).items()
    }
    starts = np.unique([first, *chain.from_iterable(one.ticks for one in demands.values())])
    course = _Course(np.diff(starts, append=last + 1), epsilon)
    asked = [_Asked(one, starts) for one in demands.values()]
    most = _TwoLargest.of([one.whole for one in asked], len(starts))
    noise = course.noise(most.largest)
    shares = {}
    for number, (name, one) in enumerate(zip(demands, asked, strict=True)):
        others = most.without(number)
        alone, relevant = course.noise(one.whole), one.whole[1] > 0
        sets = (one.whole == most.largest) & (one.whole > 0)
        shares[name] = CollectionShare(
            *course.share(noise, relevant, others),
            sets_sensitivity=course.count(sets[0]),
            sets_affected=course.count(sets[1]),
            alone=alone,
            own=course.mean(alone, relevant),
            policies={
                policy: Share(*course.share(noise, where, np.maximum(one.without(policy), others)))
                for policy, where in one.relevant.items()
            },
        )
    return Attribution(starts, course.widths, noise, shares)


Fields = tuple[Booleans, int, float, float]


@dataclass(frozen=True, eq=False)
class _Course:
    """Measure noise over stretches, from Delta_t and the largest delta(J) in two rows."""

    widths: Integers
    epsilon: float

    def noise(self, asked: Integers) -> Floats:
        return np.asarray(asked[0].astype(np.float64) * asked[1] / self.epsilon)

    def mean(self, noise: Floats, where: Booleans) -> float:
        return _mean(noise, np.where(where, self.widths, 0))

    def count(self, where: Booleans) -> int:
        return int(self.widths[where].sum())

    def share(self, noise: Floats, where: Booleans, without: Integers) -> Fields:
        """Return the fields of a `Share`."""
        saved = _mean(noise - self.noise(without), self.widths)
        return where, self.count(where), self.mean(noise, where), saved


class _Asked:
    """Hold what a collection asks for in every stretch: `whole`, of shape (2, stretches)."""

    def __init__(self, collection: CollectionDemands, starts: Integers) -> None:
        self._place = np.searchsorted(collection.ticks, starts, "right") - 1
        self._without: dict[str, dict[int, Demand]] = {name: {} for name in collection.ids}
        relevant: dict[str, list[int]] = {name: [] for name in collection.ids}
        asked = []
        for place, demands in enumerate(collection):
            asked.append(demands.asked)
            for name in demands.relevant:
                relevant[name].append(place)
            for name, demand in demands.without.items():
                self._without[name][place] = demand
        self._asked = _two_rows(asked)
        self.whole = self._asked[:, self._place]
        self.relevant = {
            name: np.isin(np.arange(len(asked)), places)[self._place]
            for name, places in relevant.items()
        }

    def without(self, policy: str) -> Integers:
        left, differences = self._asked.copy(), self._without[policy]
        left[:, list(differences)] = _two_rows(differences.values())
        return left[:, self._place]


@dataclass(frozen=True, eq=False)
class _TwoLargest:
    """Keep the largest of several arrays and the next one, place by place, and whose it is."""

    largest: Integers
    second: Integers
    holder: Integers

    @classmethod
    def of(cls, several: Sequence[Integers], stretches: int) -> "_TwoLargest":
        largest, second, holder = np.zeros((3, 2, stretches), dtype=np.int64)
        for number, one in enumerate(several):
            more = one > largest
            second = np.where(more, largest, np.maximum(second, one))
            largest, holder = np.where(more, one, largest), np.where(more, number, holder)
        return cls(largest, second, holder)

    def without(self, number: int) -> Integers:
        """Return the largest of all others."""
        return np.where(self.holder == number, self.second, self.largest)


def _mean(amounts: Floats, weights: Integers) -> float:
    """Return the mean; 0 without any weight."""
    return float(amounts @ weights / weights.sum()) if weights.any() else 0.0


def _two_rows(demands: Iterable[Demand]) -> Integers:
    pairs = [(one.sensitivity, one.affected) for one in demands]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T


@dataclass(frozen=True)
class Improvement:
    """Compare the expected noise over a range of ticks with that of a w-event mechanism."""

    sensitivity: float
    """Mean Delta_t / Delta_Q, for any w."""
    exact: float
    """The share of ticks of which nothing can change: they are released as they are."""
    longest: int
    """max |J|, the window w that a mechanism needs that knows no policies."""
    mean_affected: float
    """The mean of max delta(J) over the open intervals."""
    mean_both: float
    """The mean of Delta_t / Delta_Q max delta(J)."""

    def affected(self, window: int) -> float:
        """Return the mean of max delta(J) / w."""
        return self.mean_affected / window

    def both(self, window: int) -> float:
        """Return the mean of Delta_t / Delta_Q max delta(J) / w."""
        return self.mean_both / window


def improvement(timeline: Timeline, first: int, last: int, changes: bytes = b"") -> Improvement:
    """Return the improvement from tick `first` to tick `last`.

    The expected size of the noise is relative to a w-event mechanism (`Uniform`) that adds Laplace
    noise of scale Delta_Q w / epsilon at every tick:

    - `sensitivity`: noise as large as what can change at all, the mean of Delta_t / Delta_Q
      (`TSUniform`, theorem 6.1);
    - `affected`: a budget for as many ticks as can be affected, the mean of max delta(J) / w over
      the open intervals (`TINARUniform`, theorem 6.2);
    - `both`: the mean of the product. `UnicornPS` has at most this: at every tick it spends
      epsilon / max delta(J) or more.

    A tick at which nothing is relevant counts as 0. A w-event mechanism hides what the policies
    hide only if w is at least max |J|; the paper also takes w = max delta(J), with which it does
    not. The paper prints the scale as Delta_Q epsilon / w. Raises `ValueError` if nothing is
    relevant at any of the ticks.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> found = improvement(HOUSEHOLD, 0, 11)
    >>> [round(number, 4) for number in (found.sensitivity, found.affected(found.longest))]
    [0.0372, 0.3542]

    Source: Swellfish specification, section 6.
    """
    ticks = last - first + 1
    sensitivity = affected = both = exact = longest = 0
    for tick in range(first, last + 1):
        relevance = timeline.relevance(tick, changes)
        most = max((interval.affected for interval in relevance.intervals), default=0)
        sensitivity += relevance.sensitivity
        affected += most
        both += relevance.sensitivity * most
        exact += relevance.sensitivity == 0
        for interval in relevance.intervals:
            longest = max(longest, interval.end - interval.start + 1)
    if not longest:
        raise ValueError("first, last: no policy is relevant at any of these ticks")
    whole = timeline.largest_sensitivity * ticks
    return Improvement(sensitivity / whole, exact / ticks, longest, affected / ticks, both / whole)
