"""The proposal kernel for ordered symbols, distance |x - y|: neighbours share a representative.

Candidates, all repaired and costed; the cheapest wins, an earlier one within 1e-12:

1. contiguous clusters of equal mass 1/K, the symbols at their borders split between neighbours;
2. symbols of at least tau keep themselves, smaller neighbours are grouped from left to right;
3. the k most likely symbols, everybody else goes to the nearest of them;
4. every symbol keeps itself.

Utility only: whatever is chosen, `ReleaseLaw.repaired` makes it private. Source: SIP specification
section 3.2. All arrays are `(n, rows)`; O(n) per candidate and row, all rows at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True)
class OrderedKernel:
    """The kernel's constants: `gain` = e^eps - 1 and `growth` = e^eps."""

    gain: float
    growth: float

    def identity(self) -> tuple[str | int | bytes, ...]:
        """Its name and version."""
        return ("ordered", 1)

    def propose(self, belief: Floats) -> Assignment:
        """The cheapest candidate for each column of `belief`."""
        symbols, rows = belief.shape
        place = np.arange(symbols)[:, None]
        far = _expected_distances(belief)
        targets = np.zeros((3, symbols, rows), dtype=np.int64)
        weights = np.zeros((3, symbols, rows))
        least = np.full(rows, np.inf)
        for candidate in self._candidates(belief):
            cost = self._cost(belief, candidate, np.abs(candidate.targets - place), far)
            better = cost < least - TIE
            least = np.where(better, cost, least)
            slots = len(candidate.targets)
            targets[:slots, :, better] = candidate.targets[:, :, better]
            weights[:slots, :, better] = candidate.weights[:, :, better]
            weights[slots:, :, better] = 0.0
        return Assignment(targets, weights)

    def _cost(self, belief: Floats, candidate: Assignment, moves: Floats, far: Floats) -> Floats:
        law = ReleaseLaw.repaired(belief, candidate, self.gain, self.growth)
        moved = ordered_sum(belief * candidate.expected(moves))
        spread = ordered_sum(law.mass * far)
        cost: Floats = (self.gain * moved + spread) / (self.gain + ordered_sum(law.mass))
        return cost

    def _candidates(self, belief: Floats) -> Iterator[Assignment]:
        symbols, reached = len(belief), np.cumsum(belief, axis=0)
        most = min(ceil(min(self.growth, MOST_CLUSTERS)) + 2, MOST_CLUSTERS)
        for clusters in range(1, most + 1):
            yield self._equal_clusters(belief, reached, clusters)
        for share in _SHARES:
            threshold = share / (self.growth + 1.0)
            yield from _grouped(belief, threshold)
        rank = np.argsort(np.argsort(-belief, axis=0, kind="stable"), axis=0, kind="stable")
        for kept in range(1, min(most, symbols) + 1):
            yield Assignment.to(_nearest(rank < kept))
        yield Assignment.to(np.broadcast_to(np.arange(symbols)[:, None], belief.shape).copy())

    def _equal_clusters(self, belief: Floats, reached: Floats, clusters: int) -> Assignment:
        """Candidate 1. `reached` is the running sum of the belief."""
        before = reached - belief
        representatives = np.stack(
            [(reached < self._median(clusters, number)).sum(axis=0) for number in range(clusters)]
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
        between = np.minimum(first + 1, last)
        slots = np.stack([first, between, last])
        targets = np.take_along_axis(representatives[None], slots, axis=1)
        weights = np.stack([into_first, 1.0 - into_first - into_last, into_last])
        chosen = np.zeros(belief.shape, dtype=bool)
        np.put_along_axis(chosen, representatives, True, axis=0)
        targets = np.where(possible, targets, _nearest(chosen))
        return Assignment.merged(targets, weights)

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


def _grouped(belief: Floats, threshold: float) -> Iterator[Assignment]:
    """Candidate 2, with everybody in their group, and with everybody at the nearest one."""
    symbols, rows = belief.shape
    place = np.arange(symbols)[:, None]
    large = belief >= threshold
    running, before, full = np.zeros(rows), np.empty_like(belief), np.empty_like(large)
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
    yield Assignment.to(np.where(large, place, np.where(grouped, own_group, nearest)))
    yield Assignment.to(nearest)


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
