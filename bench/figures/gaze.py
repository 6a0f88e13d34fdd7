"""Ten people's gaze on a grid, generated: fixations that drift, and jumps to what each looks at."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.mechanism import Floats, Integers, Mechanism
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import Points
from fugu.operators.sip.markov_model import Chain, MarkovModel
from fugu.operators.sip.planar_isotropic_response import PlanarIsotropicResponse
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseRows

SIDE, PEOPLE, RATE = 10, 10, 50
"""Cells of a side, people, and samples in a second."""
CELLS = SIDE * SIDE
PLACES = Points(np.array([[cell % SIDE, cell // SIDE] for cell in range(CELLS)], dtype=np.float64))
_LOOKED_AT, _JUMPS, _DRIFTS, _LEAST, _OUTSIDE = 4, 0.04, 0.3, 10, 0.05
_SMOOTHING = 0.01


@dataclass(frozen=True)
class Gaze:
    """Generate the cells that ten people look at, by a seed."""

    seed: int = 1

    @cached_property
    def _looked_at(self) -> Integers:
        return np.random.default_rng(self.seed).integers(CELLS, size=(PEOPLE, _LOOKED_AT))

    def samples(self, steps: int, seed: int, each: int = 1) -> Integers:
        """Return cells `(steps, people * each)`, person by person."""
        rng, looked_at = np.random.default_rng(seed), np.repeat(self._looked_at, each, axis=0)
        rows = np.arange(len(looked_at))
        cell = looked_at[rows, rng.integers(_LOOKED_AT, size=len(rows))]
        found = []
        for _ in range(steps):
            jump = looked_at[rows, rng.integers(_LOOKED_AT, size=len(rows))]
            moved = rng.random((2, len(rows))) < _DRIFTS / 2.0
            steps_on = moved * rng.choice([-1, 1], size=moved.shape)
            across = np.clip(cell % SIDE + steps_on[0], 0, SIDE - 1)
            down = np.clip(cell // SIDE + steps_on[1], 0, SIDE - 1)
            cell = np.where(rng.random(len(rows)) < _JUMPS, jump, down * SIDE + across)
            found.append(cell)
        return np.array(found)

    @cached_property
    def public(self) -> Integers:
        """Return two minutes of each person that the models are learned from."""
        return self.samples(120 * RATE, seed=7)

    def model(self, people: slice = slice(None)) -> MarkovModel:
        """Return a chain of first order, of all people or of some."""
        seen = self.public[:, people]
        pairs = np.full((CELLS, CELLS), 1.0 / CELLS)
        np.add.at(pairs, (seen[:-1].ravel(), seen[1:].ravel()), 1.0)
        rows = pairs / pairs.sum(axis=1, keepdims=True)
        return MarkovModel.smoothed(np.full(CELLS, 1.0 / CELLS), rows, _SMOOTHING)

    def second_order(self) -> SecondOrderModel:
        """Return a chain of second order, with pairs that were seen often."""
        first, second, third = (self.public[at : len(self.public) - 2 + at] for at in range(3))
        codes, counts = np.unique(first * CELLS + second, return_counts=True)
        pairs = np.array([divmod(int(code), CELLS) for code in codes[counts >= _LEAST]])
        after = [_next(third[second == cell]) for cell in range(CELLS)]
        after += [_next(third[(first == u) & (second == v)]) for u, v in pairs]
        rows = SparseRows.smoothed([(row, 0.0) for row in after], CELLS, smoothing=_SMOOTHING)
        return SecondOrderModel(np.full(CELLS, 1.0 / CELLS), pairs, rows)


def one_by_one(model: Chain, epsilon: float) -> dict[str, Mechanism]:
    """Return mechanisms that release a cell for each sample, with epsilon."""
    return {
        "pim": PlanarIsotropicResponse(model, epsilon, _OUTSIDE, PLACES),
        "pim, 2 epsilon": PlanarIsotropicResponse(model, 2.0 * epsilon, _OUTSIDE, PLACES),
        "crr": ConditionalRandomizedResponse(model, epsilon, PLACES),
    }


def in_batches(model: MarkovModel, window: int, epsilon: float) -> BatchedRelease:
    """Return batches with the epsilon of their samples together."""
    return BatchedRelease(model, window, window * epsilon, PLACES, "heuristic")


def response(epsilon: float) -> GeneralizedRandomizedResponse:
    """Return randomized response over all cells."""
    return GeneralizedRandomizedResponse(CELLS, epsilon)


def distances(released: Integers, truths: Integers) -> Floats:
    """Return the mean distance of each column, in cells."""
    apart = PLACES.between(truths[: len(released)].ravel(), released.ravel())
    return np.asarray(apart.reshape(released.shape).mean(axis=0))


def shares(cells: Integers) -> Floats:
    """Return how often each cell is among them, none of which is impossible."""
    counts = np.bincount(cells.ravel(), minlength=CELLS) + 1.0
    return np.asarray(counts / counts.sum())


def _next(cells: Integers) -> dict[int, float]:
    seen, counts = np.unique(cells, return_counts=True)
    if not len(seen):
        return dict.fromkeys(range(CELLS), 1.0 / CELLS)
    return dict(zip(seen.tolist(), (counts / counts.sum()).tolist(), strict=True))
