"""The proposal kernel for ordered symbols, distance |x - y|: neighbours share a representative.

Candidates, all repaired and costed; the first that is within 1e-12 of the cheapest wins:

1. contiguous clusters of equal mass 1/K, the symbols at their borders split between neighbours;
2. symbols of at least tau keep themselves, smaller neighbours are grouped from left to right;
3. the k most likely symbols, everybody else goes to the nearest of them;
4. every symbol keeps itself.

Utility only: whatever is chosen, `ReleaseLaw.repaired` makes it private. Source: SIP specification
section 3.2. All arrays are `(n, rows)`; O(n) per candidate and row, all rows at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

from operators.mechanism import Floats, Integers
from operators.sip.assignment import Assignment
from operators.sip.markov_model import ordered_sum
from operators.sip.proposal import Mask
from operators.sip.release_law import ReleaseLaw

TIE = 1e-12
MOST_CLUSTERS = 64
_SHARES = (1.0, 0.75, 0.5, 0.25)
_LARGEST_TABLE = 2**18
"""Entries that are worked on at a time."""


@dataclass(frozen=True)
class OrderedKernel:
    """The kernel's constants: `gain` = e^eps - 1 and `growth` = e^eps."""

    gain: float
    growth: float

    def identity(self) -> tuple[str | int | bytes, ...]:
        """Its name and version."""
        return ("ordered", 1)

    def propose(self, belief: Floats) -> Assignment:
        """The cheapest candidate for each column of `belief`; a few columns at a time."""
        symbols, rows = belief.shape
        width = max(1, _LARGEST_TABLE // (symbols * 2 * self._most_clusters))
        if rows == 0:
            return _only(np.zeros(belief.shape, dtype=np.int64))
        starts = range(0, rows, width)
        cheapest = [self._cheapest(belief[:, start : start + width]) for start in starts]
        return Assignment(
            np.concatenate([part.targets for part in cheapest], axis=2),
            np.concatenate([part.weights for part in cheapest], axis=2),
        )

    def _cheapest(self, belief: Floats) -> Assignment:
        rows = belief.shape[1]
        candidates = list(self._candidates(belief))
        targets = np.concatenate([candidate.targets for candidate in candidates], axis=2)
        weights = np.concatenate([candidate.weights for candidate in candidates], axis=2)
        every = targets.shape[2] // rows
        law = ReleaseLaw.repaired(
            np.tile(belief, every), Assignment(targets, weights), self.gain, self.growth
        )
        moves = np.abs(targets - np.arange(len(belief))[:, None])
        moved = ordered_sum(law.belief * ordered_sum(weights * moves))
        spread = ordered_sum(law.mass * np.tile(_expected_distances(belief), every))
        cost = (self.gain * moved + spread) / (self.gain + ordered_sum(law.mass))
        cost = cost.reshape(every, rows)
        first = np.argmax(cost <= cost.min(axis=0) + TIE, axis=0)
        chosen = first * rows + np.arange(rows)
        return Assignment(targets[:, :, chosen], weights[:, :, chosen])

    def _candidates(self, belief: Floats) -> Iterator[Assignment]:
        """Kinds of candidates: all columns of the first one, of the second one, and so on."""
        symbols, rows = belief.shape
        clusters = np.repeat(np.arange(1, self._most_clusters + 1), rows)
        yield self._equal_clusters(np.tile(belief, self._most_clusters), clusters)
        shares = np.repeat(np.array(_SHARES) / (self.growth + 1.0), rows)
        yield from _grouped(np.tile(belief, len(_SHARES)), shares)
        most = min(self._most_clusters, symbols)
        rank = np.argsort(np.argsort(-belief, axis=0, kind="stable"), axis=0, kind="stable")
        yield _only(_nearest(np.tile(rank, most) < np.repeat(np.arange(1, most + 1), rows)))
        yield _only(np.repeat(np.arange(symbols)[:, None], rows, axis=1))

    def _equal_clusters(self, belief: Floats, clusters: Integers) -> Assignment:
        """Candidate 1, with as many clusters as said for each column."""
        reached = np.cumsum(belief, axis=0)
        before = reached - belief
        representatives = np.stack(
            [(reached < medians[clusters - 1]).sum(axis=0) for medians in self._medians]
        )
        representatives = np.minimum(representatives, len(belief) - 1)
        possible = belief > 0.0
        first = np.clip(np.floor(before * clusters).astype(np.int64), 0, clusters - 1)
        last = np.clip(np.ceil(reached * clusters).astype(np.int64) - 1, first, clusters - 1)
        mass = np.where(possible, belief, 1.0)
        into_first = np.clip(((first + 1) / clusters - before) / mass, 0.0, 1.0)
        into_first = np.where(first == last, 1.0, into_first)
        into_last = np.clip((reached - last / clusters) / mass, 0.0, 1.0 - into_first)
        into_last = np.where(last == first + 1, 1.0 - into_first, into_last)
        slots = np.stack([first, np.minimum(first + 1, last), last])
        targets = np.take_along_axis(representatives[None], slots, axis=1)
        weights = np.stack([into_first, 1.0 - into_first - into_last, into_last])
        chosen = np.zeros(belief.shape, dtype=bool)
        np.put_along_axis(chosen, representatives, True, axis=0)
        targets = np.where(possible, targets, _nearest(chosen))
        return Assignment.merged(targets, weights)

    @cached_property
    def _most_clusters(self) -> int:
        return min(ceil(min(self.growth, MOST_CLUSTERS)) + 2, MOST_CLUSTERS)

    @cached_property
    def _medians(self) -> Floats:
        """`_median` of each cluster (first axis) out of 1, 2, ...; after the last one, its own."""
        most = self._most_clusters
        return np.array(
            [
                [
                    self._median(clusters, min(number, clusters - 1))
                    for clusters in range(1, most + 1)
                ]
                for number in range(most)
            ]
        )

    def _median(self, clusters: int, number: int) -> float:
        """Where the running sum of the belief passes a cluster's best representative.

        It is the median of (1 - e^-eps) times the cluster plus e^-eps / K times the whole belief.
        """
        share, below = 1.0 / clusters, number / clusters
        own, everybody = self.gain / self.growth, share / self.growth
        if 0.5 * share <= everybody * below:
            return 0.5 * share / everybody
        if 0.5 * share <= own * share + everybody * (below + share):
            return (0.5 * share + own * below) / (own + everybody)
        return (0.5 - own) * share / everybody


def _grouped(belief: Floats, threshold: Floats) -> Iterator[Assignment]:
    """Candidate 2, with everybody in their group, and with everybody at the nearest one."""
    symbols, columns = belief.shape
    large = belief >= threshold
    running, before, full = np.zeros(columns), np.empty_like(belief), np.empty_like(large)
    gathered = np.empty_like(belief)
    for symbol in range(symbols):
        before[symbol] = running
        running = np.where(large[symbol], 0.0, running + belief[symbol])
        gathered[symbol] = running
        full[symbol] = running >= threshold
        running = np.where(full[symbol], 0.0, running)
    ends = _next(full)
    grouped = ends < _next(large)
    total = np.take_along_axis(gathered, np.minimum(ends, symbols - 1), axis=0)
    middle = grouped & (2.0 * before < total) & (2.0 * gathered >= total)
    nearest = _nearest(large | middle)
    following = _next(middle)
    own_group = np.where(following <= ends, following, _previous(middle))
    itself = np.arange(symbols)[:, None]
    yield _only(np.where(large, itself, np.where(grouped, own_group, nearest)))
    yield _only(nearest)


def _only(targets: Integers) -> Assignment:
    """One target for each symbol, with room for as many slots as clusters need."""
    weights = np.zeros((3, *targets.shape))
    weights[0] = 1.0
    return Assignment(np.stack([targets] * 3), weights)


def _next(marked: Mask) -> Integers:
    """The first marked symbol from each one on; n where there is none."""
    place = np.where(marked, np.arange(len(marked))[:, None], len(marked))
    return np.asarray(np.minimum.accumulate(place[::-1], axis=0)[::-1])


def _previous(marked: Mask) -> Integers:
    """The last marked symbol up to each one; -1 where there is none."""
    place = np.where(marked, np.arange(len(marked))[:, None], -1)
    return np.asarray(np.maximum.accumulate(place, axis=0))


def _nearest(marked: Mask) -> Integers:
    """The nearest marked symbol, the lower one of two; at least one is marked."""
    place = np.arange(len(marked))[:, None]
    lower, upper = _previous(marked), _next(marked)
    down = (lower >= 0) & ((place - lower <= upper - place) | (upper == len(marked)))
    return np.where(down, lower, upper)


def _expected_distances(belief: Floats) -> Floats:
    """sum_x beta(x) |x - y| for every y: one step right adds what is left of it, less the rest."""
    reached = np.cumsum(belief, axis=0)
    steps = 2.0 * reached[:-1] - reached[-1]
    place = np.arange(len(belief))[:, None]
    first = ordered_sum(belief * place)[None]
    return np.asarray(np.cumsum(np.concatenate([first, steps]), axis=0))
