"""Release a batch as a sequence of groups of symbols: exact where they are few.

>>> clusters(np.full(6, 1 / 6), 3, Ordered()).tolist()
[0, 0, 1, 1, 2, 2]
>>> clusters(np.array([0.1, 0.5, 0.3, 0.1]), 2, Hamming()).tolist()
[1, 0, 1, 1]
"""

import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf, prod

import numpy as np

from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.batches.batch_law import Algorithm, BatchLaw
from fugu.operators.sip.batches.walk import Moves, Walk, doubts_of
from fugu.operators.sip.distances import Distance, Hamming, Ordered, Points
from fugu.operators.sip.integer_law import SharesLaw
from fugu.operators.sip.kernels import Search
from fugu.operators.sip.linear_program_kernel import solved_proposal, solver_version
from fugu.operators.sip.markov_model import normalised, ordered_sum
from fugu.operators.sip.privacy_bound import PrivacyBound
from fugu.operators.sip.proposals import ExplicitKernel, Mask
from fugu.operators.sip.release_law import ReleaseLaw


def clusters(mass: Floats, count: int, distance: Distance) -> Integers:
    """Return the group 0..count-1 of each symbol; none is empty, and `count` is at most n.

    Under `Ordered` and `Points` groups are neighbourhoods: the symbols are split along their widest
    axis, in proportion to the number of groups on both sides, and split again. Under `Hamming` the
    most likely symbols represent, and every other one joins the lightest group. Utility only: any
    grouping that depends on public data alone is private. Source: SIP specification section 8,
    algorithm 3.
    """
    symbols = len(mass)
    if count == symbols:
        return np.arange(symbols)
    match distance:
        case Hamming():
            return _around_the_likeliest(mass, count)
        case Ordered():
            return _neighbourhoods(mass, count, np.arange(symbols, dtype=np.float64)[:, None])
        case Points():
            return _neighbourhoods(mass, count, distance.coordinates)


def representatives(mass: Floats, grouped: Integers, count: int, table: Floats) -> Integers:
    """Return the member of each group that the others are nearest to, weighted by mass."""
    chosen = np.empty(count, dtype=np.int64)
    for group in range(count):
        members = np.flatnonzero(grouped == group)
        apart = ordered_sum(mass[members, None] * table[np.ix_(members, members)])
        chosen[group] = members[int(np.argmin(apart))]
    return chosen


def central(masses: Floats, distance: Distance, among: Mask | None = None) -> Integers:
    """Return a symbol that is about nearest to each column of `masses (n, columns)`, in O(n log n).

    It is the likeliest one, or the one nearest to the median of each coordinate; one `among (n,
    columns)`, where only some may be.

    >>> central(np.array([[0.1, 0.9], [0.2, 0.0], [0.7, 0.1]]), Ordered()).tolist()
    [2, 0]
    """
    symbols, columns = masses.shape
    match distance:
        case Hamming():
            allowed = masses if among is None else np.where(among, masses, -1.0)
            return np.asarray(np.argmax(allowed, axis=0))
        case Ordered():
            placed = np.arange(symbols, dtype=np.float64)[:, None]
        case Points():
            placed = distance.coordinates
    square = np.zeros((symbols, columns))
    for along in placed.T:
        order = np.argsort(along, kind="stable")
        reached = np.cumsum(masses[order], axis=0)
        middle = np.argmax(2.0 * reached >= reached[-1], axis=0)
        gap = along[:, None] - along[order[middle]]
        square = square + gap * gap
    allowed = square if among is None else np.where(among, square, np.inf)
    return np.asarray(np.argmin(allowed, axis=0))


def _around_the_likeliest(mass: Floats, count: int) -> Integers:
    ranked = np.argsort(-mass, kind="stable")
    grouped = np.empty(len(mass), dtype=np.int64)
    grouped[ranked[:count]] = np.arange(count)
    heavy = mass[ranked[:count]].copy()
    for symbol in ranked[count:]:
        lightest = int(np.argmin(heavy))
        grouped[symbol] = lightest
        heavy[lightest] += mass[symbol]
    return grouped


def _neighbourhoods(mass: Floats, count: int, coordinates: Floats) -> Integers:
    grouped = np.empty(len(mass), dtype=np.int64)
    waiting, done = [(np.arange(len(mass)), count)], 0
    while waiting:
        members, parts = waiting.pop()
        if parts == 1:
            grouped[members] = done
            done += 1
            continue
        placed = coordinates[members]
        axis = int(np.argmax(placed.max(axis=0) - placed.min(axis=0)))
        members = members[np.argsort(placed[:, axis], kind="stable")]
        reached = np.cumsum(mass[members])
        left = parts // 2
        off = np.abs(reached * parts - reached[-1] * left)
        cut = left + int(np.argmin(off[left - 1 : len(members) - (parts - left)]))
        waiting += [(members[cut:], parts - left), (members[:cut], left)]
    return grouped


@dataclass(frozen=True, eq=False)
class ClusterLaw(BatchLaw):
    """Present a law over sequences of groups as a law over batches.

    `joint (window, states, sequences, rows)` is P(state at a position, groups of all positions),
    `grouped (window, n, rows)` is the group of each symbol. `shown (window, places, rows)` are the
    symbols that may be released; `ClusterSequences.places` says which of them a sequence has.
    """

    algorithm: "ClusterSequences"
    grouped: Integers
    shown: Integers
    joint: Floats
    proposal: ExplicitKernel
    doubts: Floats

    def columns(self, columns: Integers) -> "ClusterLaw":
        return ClusterLaw(
            self.algorithm,
            self.grouped[:, :, columns],
            self.shown[:, :, columns],
            self.joint[..., columns],
            ExplicitKernel(self.proposal.matrix[:, :, columns]),
            self.doubts[columns],
        )

    @cached_property
    def prior(self) -> Floats:
        """Return b(c) of every sequence of groups c."""
        return normalised(ordered_sum(self.joint[-1]))

    @cached_property
    def law(self) -> SharesLaw:
        """Return the law over sequences of groups."""
        return SharesLaw.of(self.prior, self.proposal, self.algorithm.bound, self.doubts)

    @cached_property
    def cost(self) -> Floats:
        weighted = self.algorithm.weighted(self.joint, self.shown)
        return self.algorithm.expected(self.prior, self.proposal, weighted)

    @property
    def charge(self) -> Integers:
        return self.law.charge

    @property
    def leakage(self) -> Floats:
        return self.law.leakage

    def release(self, batches: Integers, words: Words) -> Integers:
        drawn = self.law.draw(self._sequences(batches), words[0])
        columns = np.arange(batches.shape[1])
        return np.stack(
            [
                shown[places[drawn], columns]
                for shown, places in zip(self.shown, self.algorithm.places, strict=True)
            ]
        )

    def probability(self, batches: Integers, released: Integers) -> Floats:
        columns = np.arange(batches.shape[1])
        sequences = self._sequences(released)
        law = self.law.probabilities(self._sequences(batches))[sequences, columns]
        possible = np.ones(len(columns), dtype=bool)
        for position, places in enumerate(self.algorithm.places):
            shown = self.shown[position, places[sequences], columns]
            possible &= shown == released[position]
        return np.where(possible, law, 0.0)

    def learned(self, released: Integers) -> Floats:
        likelihood = self.law.likelihood(self._sequences(released))
        model = self.algorithm.walk.model
        learned = np.empty((len(released), model.symbols, released.shape[1]))
        for position, joint in enumerate(self.joint):
            learned[position] = model.marginal(_over_sequences(joint, likelihood))
        return learned

    def last_state(self, released: Integers, learned: Floats) -> Floats:
        if self.algorithm.walk.remembers_symbols_only:
            return np.asarray(learned[-1])
        likelihood = self.law.likelihood(self._sequences(released))
        return _over_sequences(self.joint[-1], likelihood)

    def expected(self, released: Integers) -> Floats:
        columns, expected = np.arange(released.shape[1]), []
        chances = self.law.expected_releases()
        for position, places in enumerate(self.algorithm.places):
            shown = self.shown[position, places]
            here = np.zeros((self.algorithm.walk.symbols, len(columns)))
            for chance, symbols in zip(normalised(chances), shown, strict=True):
                here[symbols, columns] += chance
            expected.append(here)
            chances = np.where(shown == released[position], chances, 0.0)
        return np.stack(expected)

    def _sequences(self, batches: Integers) -> Integers:
        """Return the number of each batch's sequence of groups."""
        groups = np.take_along_axis(self.grouped, batches[:, None], axis=1)[:, 0]
        return np.asarray(np.ravel_multi_index(tuple(groups), self.algorithm.counts))


def _over_sequences(joint: Floats, likelihood: Floats) -> Floats:
    """Return P(state | released), a sum over sequences of groups."""
    per_sequence = np.ascontiguousarray((joint * likelihood).transpose(1, 0, 2))
    return normalised(ordered_sum(per_sequence))


MOST_SEQUENCES = 36
TIE = 1e-12
_BELIEF_GRID = 1024
_UNLIKELY = np.float64(2.0**-10)
"""Added to a rounded belief for every symbol, so that all of them go somewhere near."""
_REMEMBERED = 2048


@dataclass(frozen=True, eq=False)
class ClusterSequences(Algorithm):
    """Release batches as sequences of groups of symbols.

    `bound` is that of a whole batch.

    Each position has groups of symbols (`clusters`), so that there are at most 36 sequences c of
    groups however many batches there are; where there are at most 36 batches, every symbol is a
    group of its own and nothing is lost. The release is one representative per group, drawn from a
    law a(r|c) over sequences of groups. It depends on the batch through c only, so the repair with
    the exact

        b(c) = P(groups c) = sum over s of P(S_i = s, c), forward and backward,

    over the states s of the chain (`walk`), makes it private. What is proposed is the solution of
    the linear program for the expected distance given c, or the cheapest projection onto the k most
    likely sequences. Groups and proposal are made for the belief rounded to multiples of 1/1024 and
    remembered by it: a function of it, and utility only. Everything is `(n, sequences, rows)`; sums
    run in symbol order.

    Raises `ValueError` where a linear program is asked for and SciPy is not installed.

    Source: SIP specification section 8, algorithms 1 and 3; section 3.4 for the linear program.
    """

    walk: Walk
    window: int
    distance: Distance
    search: Search
    bound: PrivacyBound
    most: int = MOST_SEQUENCES

    def __post_init__(self) -> None:
        if self.search == "linear_program":
            solver_version()
        self.bound.reserve_of_rows(self.outcomes, self.outcomes)

    @property
    def draws(self) -> int:
        return 1

    @property
    def outcomes(self) -> int:
        """Return how many outcomes a draw has."""
        return prod(self.counts)

    @property
    def size(self) -> int:
        sequences = self.outcomes
        powers = 0 if self.walk.is_plain or not self.walk.has_powers else self.walk.states**2
        return sequences * (self.window * self.walk.states + sequences) + powers

    @property
    def roundings(self) -> int:
        """Count n + 2 for each position up to the last symbol, and the sum over sequences."""
        moved = self.walk.roundings(self.window, self.window * (self.walk.symbols + 2))
        return moved + self.outcomes + 8

    @property
    def name(self) -> str:
        """Return how digests and reports name the algorithm."""
        return "cluster_sequences"

    def identity(self) -> tuple[str | int | bytes, ...]:
        """Name, version and size, and everything that its bits depend on."""
        place: tuple[str, ...] = ()
        if self.search == "linear_program":
            place = (solver_version(), platform.system(), platform.machine())
        return (self.name, 2, self.most, self.search, *place)

    def law(self, belief: Floats, distances: Floats, steps: Integers | None = None) -> ClusterLaw:
        moves = self.walk.of(steps)
        keys = np.ascontiguousarray(np.floor(belief * _BELIEF_GRID + 0.5).astype(np.int64).T)
        between = None if moves.steps is None else np.ascontiguousarray(moves.steps.T)
        plans = [
            self._remembered(key.tobytes(), None if between is None else between[row].tobytes())
            for row, key in enumerate(keys)
        ]
        grouped = np.empty((self.window, self.walk.symbols, len(keys)), dtype=np.int64)
        shown = np.empty((self.window, max(self.counts), len(keys)), dtype=np.int64)
        for row, plan in enumerate(plans):
            grouped[:, :, row], shown[:, :, row] = plan.grouped, plan.shown
        proposal = ExplicitKernel.stacked([plan.proposal for plan in plans], self.outcomes)
        joint = self._joint(belief, grouped, moves)
        doubts = doubts_of(distances + self.walk.forward_distance(self.window), self.outcomes)
        return ClusterLaw(self, grouped, shown, joint, proposal, doubts)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Return the number of groups of each position: as many as fit, as equal as possible."""
        counts = [1] * self.window
        while True:
            growing = [i for i in range(self.window) if counts[i] < self.walk.symbols]
            if not growing:
                return tuple(counts)
            smallest = min(growing, key=lambda i: counts[i])
            counts[smallest] += 1
            if prod(counts) > self.most:
                counts[smallest] -= 1
                return tuple(counts)

    @cached_property
    def digits(self) -> Integers:
        """Return the group of each position in each sequence, the first slowest."""
        return np.indices(self.counts).reshape(self.window, -1)

    @property
    def places(self) -> Integers:
        """Return which of the symbols shown at each position a sequence has: that of its group."""
        return self.digits

    @cached_property
    def table(self) -> Floats:
        """Return D(x, y)."""
        return self.distance.table(self.walk.symbols)

    @cached_property
    def _remembered(self) -> "Callable[[bytes, bytes | None], _Plan]":
        return lru_cache(_REMEMBERED)(self._plan)

    def _plan(self, content: bytes, between: bytes | None) -> "_Plan":
        """Make a plan for a rounded belief, with a little of it on every state that may be, and the
        steps between positions."""
        steps = None if between is None else np.frombuffer(between, dtype=np.int64)[:, None]
        moves = self.walk.of(steps)
        belief = normalised(np.frombuffer(content, dtype=np.int64) + _UNLIKELY)
        grouped, shown = self._groups(belief, moves)
        joint = self._joint(belief[:, None], grouped[:, :, None], moves)
        prior = normalised(ordered_sum(joint[-1]))[:, 0]
        apart = self.weighted(joint, shown[:, :, None])[:, :, 0] / prior[:, None]
        return _Plan(grouped, shown, self.proposed(prior, apart))

    def proposed(self, prior: Floats, apart: Floats) -> Floats:
        """Return the proposal for sequences of groups so far apart, as a matrix."""
        proposal = None
        if self.search == "linear_program":
            proposal = solved_proposal(prior, apart, self.bound.growth)
        return self._projection(prior, apart) if proposal is None else proposal

    def _groups(self, belief: Floats, moves: Moves) -> tuple[Integers, Integers]:
        """Return the group of each symbol at each position, and what is shown for each group."""
        mass = belief[:, None]
        grouped = np.empty((self.window, self.walk.symbols), dtype=np.int64)
        shown = np.zeros((self.window, max(self.counts)), dtype=np.int64)
        for position, groups in enumerate(self.counts):
            likely = self.walk.model.marginal(mass)[:, 0]
            grouped[position] = clusters(likely, groups, self.distance)
            shown[position, :groups] = representatives(
                likely, grouped[position], groups, self.table
            )
            if position + 1 < self.window:
                mass = moves.predicted(mass, position)
        return grouped, shown

    def _projection(self, prior: Floats, apart: Floats) -> Floats:
        """Send everybody to the nearest of the k most likely sequences, for the cheapest k."""
        ranked = np.argsort(-prior, kind="stable")
        best, least = np.eye(len(prior)), inf
        for kept in range(1, len(prior) + 1):
            nearest = ranked[np.argmin(apart[:, ranked[:kept]], axis=1)]
            matrix = np.eye(len(prior))[nearest]
            proposal = ExplicitKernel(matrix[:, :, None])
            weighted = (prior[:, None] * apart)[:, :, None]
            cost = float(self.expected(prior[:, None], proposal, weighted)[0])
            if cost < least - TIE:
                best, least = matrix, cost
        return best

    def weighted(self, joint: Floats, shown: Integers) -> Floats:
        """Return P(c) E[D(o, r) | c], `(sequences of groups, released, rows)`."""
        sequences = self.digits.shape[1]
        total = np.zeros((sequences, sequences, joint.shape[3]))
        for position, groups in enumerate(self.counts):
            for group in range(groups):
                far = self.distance.from_each(shown[position, group], self.walk.symbols)
                far = far[self.walk.symbol_of_state]
                cost = ordered_sum(joint[position] * far[:, None, :])
                total = total + np.where(
                    (self.digits[position] == group)[None, :, None], cost[:, None, :], 0.0
                )
        return total

    def expected(self, prior: Floats, proposal: ExplicitKernel, weighted: Floats) -> Floats:
        """Return sum over c and r of b(c) a(r|c) E[D | c], for infinitely many words."""
        law = ReleaseLaw.repaired(prior, proposal, self.bound.gain, self.bound.growth)
        moved = ordered_sum(ordered_sum(proposal.matrix * weighted))
        spread = ordered_sum(law.mass * ordered_sum(weighted))
        return np.asarray((law.gain * moved + spread) / (law.gain + ordered_sum(law.mass)))

    def _joint(self, belief: Floats, grouped: Integers, moves: Moves) -> Floats:
        """Return P(S_i = s, groups c), `(window, states, sequences, rows)`."""
        of_states = grouped[:, self.walk.symbol_of_state]
        inside = of_states[:, :, None, :] == self.digits[:, None, :, None]
        joint = np.empty((self.window, *inside.shape[1:]))
        forward = np.where(inside[0], belief[:, None, :], 0.0)
        joint[0] = forward
        for position in range(1, self.window):
            forward = np.where(inside[position], moves.onward(forward, position - 1), 0.0)
            joint[position] = forward
        backward = np.ones(inside.shape[1:])
        for position in range(self.window - 2, -1, -1):
            later = np.where(inside[position + 1], backward, 0.0)
            backward = moves.back(later, position)
            joint[position] = joint[position] * backward
        return joint


@dataclass(frozen=True, eq=False)
class _Plan:
    """Hold groups, representatives and proposal for one rounded belief."""

    grouped: Integers
    shown: Integers
    proposal: Floats
