"""PIM over symbols by exact enumeration: what holds for which cells, and which claims break."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from fugu.operators.budget_units import UNITS_PER_NAT, in_nats
from fugu.operators.mechanism import Inputs, Integers, State, Words
from fugu.operators.sip.distances import Ordered, Points
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.planar_isotropic_response import PlanarIsotropicResponse
from tests.privacy.chains import binary, random_chain
from tests.privacy.leakage import ROUNDING, about_truth, all_sequences
from tests.privacy.test_local_laws import WORDS, Law, worst
from tests.privacy.word_counts import word_counts

UNIT = Fraction(1, UNITS_PER_NAT)


@dataclass(frozen=True)
class Chosen:
    """Hands out the words that a test chose."""

    chosen: Words

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        return self.chosen.reshape(len(binding), coordinates, count)


def counted(pim: PlanarIsotropicResponse, state: State) -> Law:
    """P(release given each cell), to the last word."""
    law: Law = []
    for truth in range(pim.model.symbols):

        def released(words: Words, truth: int = truth) -> Integers:
            many = {name: np.repeat(column, len(words), axis=0) for name, column in state.items()}
            return pim.step(many, Inputs(np.full(len(words), truth)), Chosen(words))[1].values

        counts = word_counts(released, pim.model.symbols)
        law.append({y: Fraction(count, WORDS) for y, count in enumerate(counts) if count})
    return law


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 15.0, 50.0])
@pytest.mark.parametrize("delta", [0.01, 0.3])
def test_no_two_cells_differ_by_more_than_epsilon_whether_they_are_in_the_set_or_not(
    delta: float, epsilon: float
) -> None:
    """At the sets of several histories, and exactly at what each release is charged."""
    rng = np.random.default_rng(11)
    pim = PlanarIsotropicResponse(
        random_chain(rng, 5), epsilon, delta, Points(rng.normal(size=(5, 2)))
    )
    state, sizes = pim.start(1), set()
    for _ in range(4):
        law = counted(pim, state)
        assert all(chances.keys() == law[0].keys() for chances in law), "one set for all cells"
        charge = int(pim.next_charge(state)[0]) * UNIT
        assert worst(law) <= charge < worst(law) + UNIT
        assert charge <= Fraction(epsilon) + UNIT
        written = pim.release_law(state)[0]
        assert [[float(one.get(y, 0)) for y in range(5)] for one in law] == written.tolist()
        sizes.add(len(law[0]))
        state = pim.follow(state, np.array([rng.choice(np.flatnonzero(written[0]))]))
    [guarantee] = pim.guarantees()
    assert guarantee.epsilon == in_nats(pim.largest_charge)
    assert len(sizes) > 1 or delta == 0.01


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_sets_that_adapt_to_releases_keep_every_release_at_epsilon_and_paths_at_their_sum(
    seed: int, steps: int
) -> None:
    """All cells in all orders, for any prior: the model need not be true."""
    rng = np.random.default_rng(seed)
    epsilon, delta = float(rng.choice([0.3, 1.0, 3.0])), float(rng.choice([0.05, 0.3, 0.6]))
    pim = PlanarIsotropicResponse(random_chain(rng, 4), epsilon, delta, Ordered())
    paths = all_sequences(pim, steps)
    unit = steps / UNITS_PER_NAT
    for position in range(steps):
        assert paths.about_one_position(position).max() <= epsilon + unit + ROUNDING
    assert (paths.about_streams() <= paths.spent + ROUNDING).all()
    assert paths.spent.max() <= steps * epsilon + unit
    assert (about_truth(paths, random_chain(rng, 4)) <= paths.spent + ROUNDING).all()


def test_paths_of_t_releases_are_told_apart_by_t_epsilon() -> None:
    """So no smaller claim about a path, such as epsilon, is true; the sum is reached to 0.99."""
    even = MarkovModel.smoothed([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], smoothing=0.0)
    pim = PlanarIsotropicResponse(even, 0.7, 0.01, Ordered())
    assert all_sequences(pim, 3).about_streams().max() > 0.99 * 3 * 0.7


def test_one_position_is_told_by_more_than_epsilon_to_who_knows_the_chain() -> None:
    """The attack on what the promise does not cover: all releases about the first position."""
    chain = binary(stays=0.95, first=0.5)
    pim = PlanarIsotropicResponse(chain, 1.0, 0.001, Ordered())
    paths = all_sequences(pim, 3)
    prior = np.array(
        [chain.transition[x, y] * chain.transition[y, z] for x, y, z in product(range(2), repeat=3)]
    ).reshape(2, 4)
    likelihood = np.exp(paths.log_likelihood).reshape(2, 4, -1)
    of_first = (prior[:, :, None] * likelihood).sum(axis=1)
    assert np.log(of_first[0] / of_first[1]).max() > 2.0


def releasable(kind: type[PlanarIsotropicResponse], before: int, cell: int) -> set[int]:
    """Return what may be released of a cell, after `before` was the true one and 0 released."""
    near = [[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9]]
    chain = MarkovModel.smoothed([0.4, 0.2, 0.4], near, 0.01)
    pim = kind(chain, 1.0, 0.3, Ordered())
    words = np.arange(64, dtype=np.uint64) * np.uint64(WORDS // 64)
    state, releases = pim.step(pim.start(64), Inputs(np.full(64, before)), Chosen(words))
    rows = np.flatnonzero(releases.values == 0)
    if len(rows) == 0:
        return set()
    alike = {name: np.repeat(column[rows[:1]], 64, axis=0) for name, column in state.items()}
    second = pim.step(alike, Inputs(np.full(64, cell)), Chosen(words))[1]
    return set(second.values.tolist())


@pytest.mark.parametrize("kind", [PlanarIsotropicResponse])
def test_what_can_be_released_says_nothing_about_cells_or_earlier_cells(
    kind: type[PlanarIsotropicResponse],
) -> None:
    """One release that only some cells, or some earlier cells, can cause tells them for sure."""
    releases = [releasable(kind, before, cell) for before in range(3) for cell in range(3)]
    assert all(some == releases[0] for some in releases)
