"""Release symbols by the planar isotropic mechanism (PIM), over sets of likely cells."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import add_spent, in_nats
from fugu.operators.columns import Bytes, binding_digest
from fugu.operators.digests import extended
from fugu.operators.guarantee import Guarantee, Point, local_privacy
from fugu.operators.mechanism import (
    Array,
    ChargingRunningMechanism,
    Draws,
    EnumerableMechanism,
    Floats,
    Inputs,
    Integers,
    Releases,
    Run,
    State,
    Words,
)
from fugu.operators.multi_step import run_in_rounds
from fugu.operators.responses.randomized_response import Odds
from fugu.operators.sip.distances import Distance, Hamming
from fugu.operators.sip.inputs import bound_to, checked_belief, checked_symbols, digest_table
from fugu.operators.sip.markov_model import Chain, normalised
from fugu.operators.whole_numbers import take_whole_numbers


@dataclass(frozen=True, eq=False)
class LocationSets:
    """Hold one set of cells for each stream.

    All of it follows from beliefs, which are public, and from distances. Arrays are `(cells,
    rows)`, one column per stream; the arithmetic is one running sum in a fixed order, and
    comparisons.

    `ranked (cells, rows)` lists the cells from the most to the least likely, ties by index, and the
    first `sizes (rows,)` of each column are members.

    >>> sets = LocationSets.of(np.array([[0.2], [0.5], [0.2], [0.1]]), mass=0.8)
    >>> sets.ranked[:, 0].tolist(), sets.sizes.tolist()
    ([1, 0, 2, 3], [3])
    """

    ranked: Integers
    sizes: Integers

    @classmethod
    def of(cls, belief: Floats, mass: float) -> "LocationSets":
        """Return the smallest sets that hold so much of each column of `belief`."""
        ranked = np.argsort(-belief, axis=0, kind="stable")
        held = np.add.accumulate(np.take_along_axis(belief, ranked, axis=0), axis=0)
        before = (held < mass).sum(axis=0)
        return cls(ranked, np.minimum(before + 1, len(belief)))

    @cached_property
    def ranks(self) -> Integers:
        """Return the place of each cell in `ranked`, `(cells, rows)`."""
        ranks = np.empty_like(self.ranked)
        np.put_along_axis(ranks, self.ranked, np.indices(self.ranked.shape)[0], axis=0)
        return ranks

    @cached_property
    def members(self) -> Array:
        """Return which cells are members, `(cells, rows)`."""
        return np.asarray(self.ranks < self.sizes)

    def stand_ins(self, nearest: Integers, cells: Integers, rows: Integers) -> Integers:
        """Return the nearest member to each of these cells, in the set of the row beside it.

        `nearest (cells, cells)` lists all cells by their distance from each (`by_distance`).
        """
        found = cells.copy()
        open_ = np.flatnonzero(~self.members[cells, rows])
        place = 0
        while len(open_):
            place += 1
            found[open_] = nearest[cells[open_], place]
            open_ = open_[~self.members[found[open_], rows[open_]]]
        return found


def by_distance(table: Floats) -> Integers:
    """List the cells by their distance from each one: itself first, ties by index.

    >>> by_distance(np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]])).tolist()
    [[0, 2, 1], [1, 2, 0], [2, 0, 1]]
    """
    apart = table.copy()
    np.fill_diagonal(apart, -1.0)
    return np.argsort(apart, axis=1, kind="stable")


LARGEST_ALPHABET = 1024
"""Distances between all pairs of cells are kept."""
LARGEST_SHOWN = 32

_PATHS = Point(
    "paths",
    "a path, or one position given all releases: an adversary who knows how positions follow each "
    "other learns more than epsilon from several releases, and nothing but their sum bounds it",
)
_RELEASED_SET = Point(
    "released-set",
    "a release is a member of the set of cells that the model, given all earlier releases, holds "
    "to be likely together with 1 - {outside:g}; every other cell is released as if it were the "
    "nearest member, so it is told apart from any cell by no more than epsilon, too; the set "
    "follows from what was released alone, and the model decides how accurate releases are, not "
    "how private",
)
_PROOF = Point(
    "response-over-a-set",
    "PBA specification, section 4 (PIM), with SIP specification, section 9 (GRR over the set); "
    "epsilon is exact for the words drawn, for all pairs of cells",
)


@dataclass(frozen=True, eq=False)
class PlanarIsotropicResponse(ChargingRunningMechanism, EnumerableMechanism):
    """Release a likely cell: the true one, or by chance another one of the delta-location set.

    This is the planar isotropic mechanism (PIM) over symbols.

    The set holds the most likely cells, so many that a Markov model gives them together at least
    1 - `delta` given all that was *released* before. A true cell outside it is replaced by the
    nearest member, its surrogate. The surrogate is released by generalized randomized response
    (GRR) over the members, so a set of few cells costs little accuracy. All readers then know how
    likely each cell is: the posterior of all cells, those outside the set as their surrogates,
    is the prior of the next set.

    Claim. Every release is epsilon-LDP, for any prior and any correlation: no member is more than
    e^epsilon times as likely under one true cell as under another, whether they are members or
    not, because the set and the surrogates are functions of earlier releases and of public
    parameters. The paper claims it for pairs of members only. Releases of one stream add up: T of
    them are T epsilon, and nothing less is claimed about a path, so a pipeline without a total
    budget must accept that. A set of one cell releases that cell and costs nothing. The model
    decides how accurate releases are, never how private they are.

    Parameters: `model`, a chain over n cells, 2 <= n <= 1024; `epsilon` in nats, 0 < epsilon <= 50;
    `delta`, 0 < delta < 1, the probability outside the set (no delta of differential privacy:
    that is 0); `distance`, `Ordered()` or `Points(coordinates)`, which says what is nearest.

    Input: cells `(rows,)`, 0..n-1. Release: cells `(rows,)`, annotated with `confidence`, the
    probability that the released cell is the true one given all releases, by the model.

    State: `belief (rows, states of the chain)`, `spent (rows,)`, and `history (rows,)`, a digest of
    what was released, to which draws are bound. No private value is in it.

    Raises `ValueError` for parameters out of bounds, for a distance that has no nearest cell, and,
    in `step`, for a cell outside 0..n-1 or a belief that is not a distribution.

    The continuous form, which adds noise with the density exp(-epsilon |z - x|) in the norm of the
    hull of differences, is not here. In doubles its claim does not hold: which doubles can be
    released depends on the cell. On a grid it could be drawn exactly only where all coordinates are
    whole numbers, and a draw there takes a number of words without a bound, while a replay needs a
    fixed one. A released point outside the set would also have to be brought back to a cell.

    >>> from fugu.operators.sip.distances import Ordered
    >>> from fugu.operators.sip.markov_model import MarkovModel
    >>> near = [[0.8, 0.2, 0.0], [0.1, 0.8, 0.1], [0.0, 0.2, 0.8]]
    >>> model = MarkovModel.smoothed([0.6, 0.3, 0.1], near, smoothing=0.01)
    >>> pim = PlanarIsotropicResponse(model, epsilon=1.0, delta=0.2, distance=Ordered())
    >>> pim.release_law(pim.start(1))[0].round(3).tolist()
    [[0.731, 0.269, 0.0], [0.269, 0.731, 0.0], [0.269, 0.731, 0.0]]

    Source: Xiao and Xiong, CCS 2015 (delta-location sets), with GRR in the place of noise (Jiang,
    Li, Tandon 2024, VI-B2; PBA specification section 4, SIP specification section 9). A set that
    follows from the raw cell before, as in the latter paper, is not private at all.
    """

    model: Chain
    epsilon: float
    delta: float
    distance: Distance

    kind: ClassVar[str] = "pim"
    implementation: ClassVar[int] = 1

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if not 2 <= self.model.symbols <= LARGEST_ALPHABET:
            raise ValueError(
                f"model: must have 2 to {LARGEST_ALPHABET} cells, not {self.model.symbols}"
            )
        if not 0.0 < self.delta < 1.0:
            raise ValueError(f"delta: must be above 0 and below 1, not {self.delta}")
        if isinstance(self.distance, Hamming):
            raise ValueError("distance: hamming has no nearest cell; take ordered, or points")
        _ = self._nearest, self._odds

    def start(self, rows: int) -> State:
        return {
            "belief": np.tile(self.model.start, (rows, 1)),
            "spent": np.zeros(rows, dtype=np.int64),
            "history": np.zeros(rows, dtype=np.uint64),
        }

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        cells = checked_symbols(inputs, self.model.symbols)
        words = draws.words("release", bound_to(self._bindings, cells, state["history"]))[:, 0, 0]
        belief = self._believed(state)
        sets = self._sets(belief)
        released = self._answered(sets, cells, words)
        after, posterior = self._after_release(state, belief, sets, released)
        confidence = posterior[released, np.arange(len(released))]
        return after, Releases(released, {"confidence": confidence})

    def observe(self, state: State, released: Integers) -> tuple[State, Floats]:
        """Return P(truth | releases so far), `(rows, n)`, after one release per row."""
        belief = self._believed(state)
        after, posterior = self._after_release(state, belief, self._sets(belief), released)
        return after, posterior.T

    @property
    def runs(self) -> bool:
        return False

    def run(
        self, state: State, rows: Integers, inputs: Inputs, draws: Draws, total: int | None = None
    ) -> Run:
        return run_in_rounds(self, state, rows, inputs, draws, total)

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]:
        """Predict only; the confidence of `instead` is its probability given earlier releases."""
        belief = self._believed(state)
        after = {
            "belief": np.ascontiguousarray(self.model.skip(state["belief"].T).T),
            "spent": state["spent"].copy(),
            "history": extended(state["history"], np.zeros(len(instead), dtype=np.int64)),
        }
        confidence = belief[instead, np.arange(len(instead))]
        return after, Releases(instead, {"confidence": confidence})

    def next_charge(self, state: State) -> Integers:
        return self._charges[self._sets(self._believed(state)).sizes]

    @cached_property
    def largest_charge(self) -> int:
        return int(self._charges.max())

    @cached_property
    def constant(self) -> int:
        return int(np.argmax(self.model.prior))

    @property
    def outcomes(self) -> tuple[int, int]:
        return self.model.symbols, self.model.symbols

    def release_law(self, state: State) -> Floats:
        sets = self._sets(self._believed(state))
        return self._likelihoods(sets).transpose(2, 0, 1)

    def follow(self, state: State, released: Integers) -> State:
        """Belief and ledger depend on releases alone."""
        return self.observe(state, released)[0]

    def guarantees(self) -> tuple[Guarantee, ...]:
        promised = local_privacy(in_nats(self.largest_charge), "symbol", own=_PATHS, proof=_PROOF)
        return (replace(promised, accounting=(_RELEASED_SET.of(outside=self.delta),)),)

    def audit(self) -> Mapping[str, object]:
        """Return the set of the first release, its law, and how accurate it is by the model."""
        state = self.start(1)
        belief = self._believed(state)
        sets = self._sets(belief)
        law = self.release_law(state)[0]
        apart = self.distance.table(self.model.symbols)
        return {
            "first release: cells in the set": int(sets.sizes[0]),
            "first release: probability of a cell outside it": float(belief[~sets.members].sum()),
            "first release: expected accuracy": float((belief[:, 0] * np.diagonal(law)).sum()),
            "first release: expected distance": float((belief * law * apart).sum()),
            "first release: probabilities (row = truth, column = released)": (
                law.tolist() if self.model.symbols <= LARGEST_SHOWN else None
            ),
            "charge per release in nats, at most": in_nats(self.largest_charge),
        }

    def law_digest(self) -> bytes:
        return binding_digest(
            self.kind,
            self.implementation,
            float(self.epsilon).hex(),
            float(self.delta).hex(),
            *self.distance.identity(),
            *self.model.identity(),
        )

    def _believed(self, state: State) -> Floats:
        return self.model.marginal(checked_belief(state["belief"]))

    def _sets(self, belief: Floats) -> LocationSets:
        return LocationSets.of(belief, 1.0 - self.delta)

    def _answered(self, sets: LocationSets, cells: Integers, words: Words) -> Integers:
        """Return a member for each row: the surrogate of its cell, or another one by chance."""
        rows = np.arange(len(cells))
        truth = sets.ranks[sets.stand_ins(self._nearest, cells, rows), rows]
        answer = truth.copy()
        for size in np.unique(sets.sizes[sets.sizes > 1]).tolist():
            some = sets.sizes == size
            answer[some] = self._odds[size - 2].answer(truth[some], words[some])
        return sets.ranked[answer, rows]

    def _likelihoods(self, sets: LocationSets) -> Floats:
        """Return P(y released | x), `(x, y, rows)`."""
        true = self._all_stand_ins(sets)[:, None, :] == np.arange(self.model.symbols)[:, None]
        likely, unlikely = self._chances[:, sets.sizes]
        return np.where(true, likely, np.where(sets.members, unlikely, 0.0))

    def _after_release(
        self, state: State, belief: Floats, sets: LocationSets, released: Integers
    ) -> tuple[State, Floats]:
        likely, unlikely = self._chances[:, sets.sizes]
        weights = np.where(self._all_stand_ins(sets) == released, likely, unlikely)
        posterior = normalised(belief * weights)
        next_belief = self.model.advance(np.ascontiguousarray(state["belief"].T), posterior)
        after: State = {
            "belief": np.ascontiguousarray(next_belief.T),
            "spent": add_spent(state["spent"], self._charges[sets.sizes]),
            "history": extended(state["history"], released + 1),
        }
        return after, posterior

    def _all_stand_ins(self, sets: LocationSets) -> Integers:
        """Return the surrogate of every cell, `(cells, rows)`."""
        cells, rows = np.indices(sets.ranked.shape)
        found = sets.stand_ins(self._nearest, cells.reshape(-1), rows.reshape(-1))
        return found.reshape(sets.ranked.shape)

    @cached_property
    def _odds(self) -> tuple[Odds, ...]:
        """Return those of every set of two cells or more."""
        return tuple(Odds.of(others, self.epsilon) for others in range(1, self.model.symbols))

    @cached_property
    def _charges(self) -> Integers:
        """Return the charge by the size of the set: one cell says nothing."""
        return np.array([0, 0, *(odds.charge for odds in self._odds)])

    @cached_property
    def _chances(self) -> Floats:
        """Return the probabilities of the surrogate and of each other member, by size."""
        likely = [1.0, 1.0, *(odds.likely for odds in self._odds)]
        return np.array([likely, [0.0, 0.0, *(odds.unlikely for odds in self._odds)]])

    @cached_property
    def _nearest(self) -> Integers:
        return by_distance(self.distance.table(self.model.symbols))

    @cached_property
    def _bindings(self) -> Bytes:
        return digest_table(range(self.model.symbols))
