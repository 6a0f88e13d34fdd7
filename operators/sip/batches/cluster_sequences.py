"""Batches as sequences of groups: exact where there are few, coarse elsewhere."""

import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf, prod

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.batches.batch_law import Algorithm
from fugu.operators.sip.batches.cluster_law import ClusterLaw
from fugu.operators.sip.batches.clusters import clusters, representatives
from fugu.operators.sip.batches.model_error import doubts_of
from fugu.operators.sip.batches.walk import Moves, Walk
from fugu.operators.sip.distances import Distance
from fugu.operators.sip.explicit_kernel import ExplicitKernel
from fugu.operators.sip.kernels import Search
from fugu.operators.sip.linear_program_kernel import solved_proposal, solver_version
from fugu.operators.sip.markov_model import normalised, ordered_sum
from fugu.operators.sip.privacy_bound import PrivacyBound
from fugu.operators.sip.release_law import ReleaseLaw

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
