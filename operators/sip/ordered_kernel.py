"""Propose releases of ordered symbols: likely ones alone, unlikely neighbours in groups.

>>> sums = RunningSums(np.array([[0.3], [0.1], [0.1], [0.5]]))
>>> grouped(sums, 1.7, 2.7, (1.0,))[:, :, 0].T.tolist()
[[0, 0, 3, 3], [0, 0, 3, 3]]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.sip.markov_model import ordered_sum
from fugu.operators.sip.metric_kernel import Assignment
from fugu.operators.sip.proposals import Kernel, Mask
from fugu.operators.sip.release_law import ReleaseLaw

_FEW_SYMBOLS = 24
"""Up to here they are counted sooner than searched."""


@dataclass(frozen=True, eq=False)
class RunningSums:
    """Sum beliefs over ordered symbols, so that any interval takes one step.

    Everything is `(n, rows)`, or `(n + 1, rows)` for sums over what comes before each symbol;
    places, levels and what is made of them are `(..., rows)`. Sums run in symbol order.

    >>> sums = RunningSums(np.array([[0.2], [0.3], [0.5]]))
    >>> sums.first_reaching(np.array([[0.0], [0.2], [0.21], [1.0]])).ravel().tolist()
    [0, 0, 1, 2]
    >>> sums.moved(np.array([[0]]), np.array([[3]]), np.array([[1]])).ravel().tolist()
    [0.7]
    """

    belief: Floats

    @cached_property
    def mass(self) -> Floats:
        """Return what is believed of all symbols before each one."""
        return _before(self.belief)

    @cached_property
    def moment(self) -> Floats:
        """Return the same, times the places of these symbols."""
        return _before(self.belief * self._place)

    @cached_property
    def impossible(self) -> Integers:
        """Return how many of them have no belief."""
        return _before(np.where(self.belief > 0.0, 0, 1))

    @cached_property
    def spread(self) -> Floats:
        """Return E|X - y| of each y."""
        mass, moment, place = self.mass, self.moment, self._place
        right = (moment[-1] - moment[1:]) - place * (mass[-1] - mass[1:])
        return np.asarray(place * mass[:-1] - moment[:-1] + right)

    def first_reaching(self, levels: Floats, *, beyond: bool = False) -> Integers:
        """Return the first symbol up to which so much is believed; `beyond`: more."""
        symbols, rows = self.belief.shape
        place = np.zeros((*levels.shape[:-1], rows), dtype=np.int64)
        if symbols <= _FEW_SYMBOLS:
            for reached in self.mass[1:]:
                place += reached <= levels if beyond else reached < levels
            return np.asarray(np.minimum(place, symbols - 1))
        for bit in range(symbols.bit_length() - 1, -1, -1):
            further = place + (1 << bit)
            reached = at(self.mass, np.minimum(further, symbols))
            below = reached <= levels if beyond else reached < levels
            place = np.where(below & (further <= symbols), further, place)
        return np.asarray(np.minimum(place, symbols - 1))

    def between(self, begin: Integers, end: Integers) -> Floats:
        """Return what is believed of the symbols from one up to, and without, another."""
        return at(self.mass, end) - at(self.mass, begin)

    def any_impossible(self, begin: Integers, end: Integers) -> Array:
        """Return whether one of them is."""
        return np.asarray(at(self.impossible, end) > at(self.impossible, begin))

    def moved(self, begin: Integers, end: Integers, to: Integers) -> Floats:
        """Return how far these symbols move to one of them, times what is believed of each."""
        left: Floats = to * self.between(begin, to) - (at(self.moment, to) - at(self.moment, begin))
        right = at(self.moment, end) - at(self.moment, to) - to * self.between(to, end)
        return left + right

    def moment_up_to(self, levels: Floats) -> Floats:
        """Return the same up to a level of mass, which may be within a symbol."""
        place = self.first_reaching(levels)
        return at(self.moment, place) + place * (levels - at(self.mass, place))

    @property
    def _place(self) -> Floats:
        return np.arange(len(self.belief), dtype=np.float64)[:, None]


def at(table: Array, places: Integers) -> Array:
    """Return the entries of each column's own places."""
    flat = places.reshape(-1, places.shape[-1])
    return np.take_along_axis(table, flat, axis=0).reshape(places.shape)


def _before(columns: Array) -> Array:
    sums = np.zeros((len(columns) + 1, columns.shape[1]), dtype=columns.dtype)
    np.cumsum(columns, axis=0, out=sums[1:])
    return sums


def grouped(sums: RunningSums, gain: float, growth: float, shares: Sequence[float]) -> Integers:
    """Return the target of every symbol, `(n, candidates, rows)`: for each tau = share / (e^eps +
    1) everybody in their group, and then for each of them everybody at the nearest representative.

    From left to right, smaller symbols are gathered until they have mass tau; a symbol of tau or
    more begins anew. What is left over in between goes to the nearest representative. All arrays
    are `(n, rows)`. Source: SIP specification section 3.2, candidate (ii).
    """
    symbols, rows = sums.belief.shape
    every = np.tile(np.arange(rows), len(shares))
    many = RunningSums(sums.belief[:, every])
    threshold = np.repeat(np.array(shares) / (growth + 1.0), rows)
    large = many.belief >= threshold
    ends, group = _ends(many.belief, large, threshold)
    itself = np.arange(symbols)[:, None]

    begin = np.where(group, itself, 0)
    share = many.between(begin, np.where(group, ends + 1, begin))
    level = median_level(at(many.mass, begin), np.where(group, share, 1.0), gain, growth)
    middle = np.where(group, many.first_reaching(level), 0)
    marked = large.copy()
    at_row, at_column = np.nonzero(group)
    marked[middle[at_row, at_column], at_column] = True

    closest = nearest(marked)
    latest = np.maximum.accumulate(np.where(group, itself, -1), axis=0)
    start = np.maximum(latest, 0)
    inside = (latest >= 0) & (itself <= at(ends, start)) & ~large
    own = np.where(large, itself, np.where(inside, at(middle, start), closest))
    both = np.concatenate([own, closest], axis=1)
    return both.reshape(symbols, 2 * len(shares), rows)


def median_level(below: Floats, share: Floats, gain: float, growth: float) -> Floats:
    """Return where the running sum of the belief passes the best representative of what is between
    the levels `below` and `below + share`.

    It is the median of (1 - e^-eps) times that and e^-eps share times the whole belief.
    """
    own, everybody = gain / growth, share / growth
    inside = (0.5 * share + own * below) / (own + everybody)
    before, after = 0.5 * growth, (0.5 - own) * growth
    level = np.where(0.5 * share <= own * share + everybody * (below + share), inside, after)
    return np.where(0.5 * share <= everybody * below, before, level)


def _ends(belief: Floats, large: Mask, threshold: Floats) -> tuple[Integers, Mask]:
    """Return the last symbol of the group that each symbol would begin, and which begin one."""
    symbols, columns = belief.shape
    small = RunningSums(np.where(large, 0.0, belief))
    ends = small.first_reaching(small.mass[:-1] + threshold)
    enough = small.between(np.arange(symbols)[:, None] + np.zeros_like(ends), ends + 1) >= threshold
    place = np.where(large, np.arange(symbols)[:, None], symbols)
    stop = np.minimum.accumulate(place[::-1], axis=0)[::-1]
    complete = enough & (ends < stop)
    following = np.full((symbols + 1, columns), symbols)
    following[:-1] = np.where(complete, ends + 1, np.minimum(stop + 1, symbols))
    begins = np.zeros((symbols + 1, columns), dtype=bool)
    begins[0] = True
    for _ in range(symbols.bit_length()):
        at_row, at_column = np.nonzero(begins)
        begins[following[at_row, at_column], at_column] = True
        following = np.take_along_axis(following, following, axis=0)
    return ends, begins[:-1] & complete


def nearest(marked: Mask) -> Integers:
    """Return the nearest marked symbol, the lower one of two; at least one is marked."""
    place = np.arange(len(marked))[:, None]
    lower = np.maximum.accumulate(np.where(marked, place, -1), axis=0)
    upper = np.minimum.accumulate(np.where(marked, place, len(marked))[::-1], axis=0)[::-1]
    down = (lower >= 0) & ((place - lower <= upper - place) | (upper == len(marked)))
    return np.where(down, lower, upper)


TIE = 1e-12
MOST_CLUSTERS = 64
MOST_TARGETS = 3
"""A symbol is split between no more clusters with different representatives."""
SHARES = (1.0, 0.75, 0.5, 0.25)
_LARGEST_TABLE = 2**18
"""Entries that are worked on at a time."""


@dataclass(frozen=True)
class OrderedKernel(Kernel):
    """Propose for ordered symbols, distance |x - y|: neighbours share a representative.

    Constants: `gain` = e^eps - 1 and `growth` = e^eps.

    Candidates, all repaired and costed; the first that is within 1e-12 of the cheapest wins:

    1. contiguous clusters of equal mass 1/K, the symbols at their borders split between neighbours;
    2. symbols of at least tau keep themselves, smaller neighbours are grouped from left to right;
    3. the k most likely symbols, everybody else goes to the nearest of them;
    4. every symbol keeps itself.

    A cluster or group w has the median of (1 - e^-eps) w + e^-eps |w| belief as its representative:
    it is released for others, too. Only the candidate that wins is written out; what one costs is
    told by running sums, so that a stream takes O(n log n), and all streams are done at once.

    Utility only: whatever is chosen, an integer law makes it private. Source: SIP specification
    section 3.2. All arrays are `(n, rows)`.
    """

    gain: float
    growth: float

    def identity(self) -> tuple[str | int | bytes, ...]:
        return ("ordered", 2)

    def propose(self, belief: Floats) -> Assignment:
        symbols, rows = belief.shape
        if rows == 0:
            return _only(np.zeros(belief.shape, dtype=np.int64))
        width = max(1, _LARGEST_TABLE // (2 * len(SHARES) * symbols + self._most_clusters**2))
        starts = range(0, rows, width)
        cheapest = [self._cheapest(belief[:, start : start + width]) for start in starts]
        return Assignment(
            np.concatenate([part.targets for part in cheapest], axis=2),
            np.concatenate([part.weights for part in cheapest], axis=2),
        )

    def _cheapest(self, belief: Floats) -> Assignment:
        symbols, rows = belief.shape
        sums = RunningSums(belief)
        order = np.argsort(-belief, axis=0, kind="stable")
        groups = grouped(sums, self.gain, self.growth, SHARES)
        costs = [
            self._costs_of_clusters(sums),
            self._costs_written_out(sums, Assignment.to(groups.reshape(symbols, -1))),
            self._costs_of_likely(sums, order[: self._most_clusters]),
            self._cost_of_all(sums)[None],
        ]
        kinds = np.repeat(np.arange(len(costs)), [len(cost) for cost in costs])
        number = np.concatenate([np.arange(len(cost)) for cost in costs])
        cost = np.concatenate(costs)
        first = np.argmax(cost <= cost.min(axis=0) + TIE, axis=0)
        kind, chosen = kinds[first], number[first]

        proposed = _only(np.repeat(np.arange(symbols)[:, None], rows, axis=1))
        targets, weights = proposed.targets, proposed.weights
        clustered = np.flatnonzero(kind == 0)
        if len(clustered):
            clusters = self._equal_clusters(belief[:, clustered], chosen[clustered] + 1)
            targets[:, :, clustered], weights[:, :, clustered] = clusters.targets, clusters.weights
        gathered = np.flatnonzero(kind == 1)
        targets[:, :, gathered] = groups[:, chosen[gathered], gathered]
        likely = np.flatnonzero(kind == 2)
        kept = np.zeros((symbols, len(likely)), dtype=bool)
        is_kept = np.arange(symbols)[:, None] <= chosen[likely]
        np.put_along_axis(kept, order[:, likely], is_kept, axis=0)
        targets[:, :, likely] = nearest(kept)
        return Assignment(targets, weights)

    def _costs_of_clusters(self, sums: RunningSums) -> Floats:
        """Cost candidate 1, with 1, 2, ... clusters: `(number of the cluster, clusters, rows)`."""
        most, rows = self._most_clusters, sums.belief.shape[1]
        if len(sums.belief) < most:
            counts = np.repeat(np.arange(1, most + 1), rows)
            clustered = self._equal_clusters(np.tile(sums.belief, most), counts)
            return self._costs_written_out(sums, clustered)
        clusters, number = np.arange(1, most + 1)[:, None], np.arange(most)[:, None, None]
        there = number < clusters
        to = sums.first_reaching(self._medians[:, :, None])
        begin = np.broadcast_to(np.minimum(number / clusters, 1.0), to.shape)
        end = np.broadcast_to(np.minimum((number + 1) / clusters, 1.0), to.shape)
        cut = np.clip(at(sums.mass, to + 1), begin, end)
        before, inside, after = (sums.moment_up_to(level) for level in (begin, cut, end))
        moved = to * (cut - begin) - (inside - before) + (after - inside) - to * (end - cut)
        is_first, is_last = np.ones((2, *to.shape), dtype=bool)
        is_first[1:] = to[1:] != to[:-1]
        is_last[:-1] = is_first[1:]
        is_last = there & (is_last | (number == clusters - 1))
        begin = np.maximum.accumulate(np.where(is_first, begin, 0.0), axis=0)
        largest = _largest_share(sums, begin, end)
        if sums.impossible[-1].any():
            largest = np.where(_nearest_of_impossible(sums, to, is_first), 1.0, largest)
        return self._cost(sums, to, end - begin, largest, np.where(there, moved, 0.0), is_last)

    def _costs_of_likely(self, sums: RunningSums, likely: Integers) -> Floats:
        """Cost candidate 3, with the first 1, 2, ... of `likely`: `(place, how many, rows)`."""
        symbols, most = len(sums.belief), len(likely)
        by_place = np.argsort(likely, axis=0)
        to = at(likely, by_place)[:, None] + np.zeros((1, most, 1), dtype=np.int64)
        kept = by_place[:, None] < np.arange(1, most + 1)[:, None]
        lower, upper = np.full(to.shape, -1), np.full(to.shape, 2 * symbols)
        lower[1:] = np.maximum.accumulate(np.where(kept, to, -1), axis=0)[:-1]
        upper[:-1] = np.minimum.accumulate(np.where(kept, to, 2 * symbols)[::-1], axis=0)[::-1][1:]
        begin = np.where(lower < 0, 0, (lower + to) // 2 + 1)
        end = np.minimum((to + upper) // 2 + 1, symbols)
        moved = np.where(kept, sums.moved(begin, end, to), 0.0)
        return self._cost(sums, to, sums.between(begin, end), 1.0, moved, kept)

    def _costs_written_out(self, sums: RunningSums, proposals: Assignment) -> Floats:
        """Cost several candidates for all rows, where writing them out takes no longer."""
        symbols, rows = sums.belief.shape
        every = np.tile(np.arange(rows), proposals.targets.shape[2] // rows)
        law = ReleaseLaw.repaired(sums.belief[:, every], proposals, self.gain, self.growth)
        apart = np.abs(proposals.targets - np.arange(symbols)[:, None])
        moved = ordered_sum(law.belief * ordered_sum(proposals.weights * apart))
        spread = ordered_sum(law.mass * sums.spread[:, every])
        cost = (self.gain * moved + spread) / (self.gain + ordered_sum(law.mass))
        return np.asarray(cost.reshape(-1, rows))

    def _cost_of_all(self, sums: RunningSums) -> Floats:
        """Cost candidate 4."""
        place = np.broadcast_to(np.arange(len(sums.belief))[:, None], sums.belief.shape)
        return self._cost(sums, place, sums.belief, 1.0, np.zeros(1), place >= 0)

    def _cost(
        self,
        sums: RunningSums,
        to: Integers,
        gathered: Floats,
        largest: Floats | float,
        moved: Floats,
        used: Mask,
    ) -> Floats:
        """Return the expected distance after the repair; sums are over the first axis."""
        mass = np.maximum(gathered, largest - self.growth * gathered)
        mass = np.where(used, mass, 0.0)
        apart = self.gain * ordered_sum(moved) + ordered_sum(mass * at(sums.spread, to))
        return np.asarray(apart / (self.gain + ordered_sum(mass)))

    def _equal_clusters(self, belief: Floats, clusters: Integers) -> Assignment:
        """Make candidate 1, with as many clusters as said for each column."""
        sums = RunningSums(belief)
        reached, before = sums.mass[1:], sums.mass[:-1]
        representatives = sums.first_reaching(self._medians[:, clusters - 1])
        possible = belief > 0.0
        first = np.clip(np.floor(before * clusters).astype(np.int64), 0, clusters - 1)
        last = np.clip(np.ceil(reached * clusters).astype(np.int64) - 1, first, clusters - 1)
        mass = np.where(possible, belief, 1.0)
        with np.errstate(over="ignore"):
            into_first = np.clip(((first + 1) / clusters - before) / mass, 0.0, 1.0)
            into_first = np.where(first == last, 1.0, into_first)
            into_last = np.clip((reached - last / clusters) / mass, 0.0, 1.0 - into_first)
        into_last = np.where(last == first + 1, 1.0 - into_first, into_last)
        slots = np.stack([first, np.minimum(first + 1, last), last])
        targets = np.take_along_axis(representatives[None], slots, axis=1)
        weights = np.stack([into_first, 1.0 - into_first - into_last, into_last])
        chosen = np.zeros(belief.shape, dtype=bool)
        np.put_along_axis(chosen, representatives, True, axis=0)
        targets = np.where(possible, targets, nearest(chosen))
        return Assignment.merged(targets, weights)

    @cached_property
    def _most_clusters(self) -> int:
        return min(ceil(min(self.growth, MOST_CLUSTERS)) + 2, MOST_CLUSTERS)

    @cached_property
    def _medians(self) -> Floats:
        """Return up to which mass the representative of each cluster (first axis) out of 1, 2, ...
        comes; after the last one, its own."""
        clusters = np.arange(1, self._most_clusters + 1)
        number = np.minimum(np.arange(self._most_clusters)[:, None], clusters - 1)
        return median_level(number / clusters, 1.0 / clusters, self.gain, self.growth)


def _largest_share(sums: RunningSums, begin: Floats, end: Floats) -> Floats:
    """Return the largest share of a symbol that is between two levels of mass."""
    first, last = sums.first_reaching(begin, beyond=True), sums.first_reaching(end)
    shares = []
    for symbol in (first, last):
        before, mass = at(sums.mass, symbol), at(sums.belief, symbol)
        inside = np.minimum(before + mass, end) - np.maximum(before, begin)
        shares.append(inside / np.where(mass > 0.0, mass, np.inf))
    whole = (last > first + 1) & (sums.between(np.minimum(first + 1, last), last) > 0.0)
    return np.where(whole, 1.0, np.clip(np.maximum(*shares), 0.0, 1.0))


def _nearest_of_impossible(sums: RunningSums, to: Integers, is_first: Mask) -> Mask:
    """Return whether an impossible symbol goes to each representative, since it is the nearest."""
    symbols = len(sums.belief)
    lower, upper = np.full(to.shape, -1), np.full(to.shape, 2 * symbols)
    lower[1:] = np.where(is_first[1:], to[:-1], -1)
    lower = np.maximum.accumulate(lower, axis=0)
    upper[:-1] = np.where(to[1:] > to[:-1], to[1:], 2 * symbols)
    begin = np.where(lower < 0, 0, (lower + to) // 2 + 1)
    end = np.minimum((to + upper) // 2 + 1, symbols)
    return np.asarray(sums.any_impossible(begin, end))


def _only(targets: Integers) -> Assignment:
    """Give each symbol one target, with room for as many slots as clusters need."""
    weights = np.zeros((MOST_TARGETS, *targets.shape))
    weights[0] = 1.0
    return Assignment(np.stack([targets] * MOST_TARGETS), weights)
