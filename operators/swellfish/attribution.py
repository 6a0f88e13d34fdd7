"""Attribute the expected noise of figures to collections and policies: who pays for whose wish."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.swellfish.demands import CollectionDemands, Demand
from fugu.operators.swellfish.timeline import Policies
from fugu.operators.wevent.allocation import Booleans


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
