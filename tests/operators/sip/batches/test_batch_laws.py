"""Every algorithm for batches against the definitions: privacy, posterior and cost."""

from itertools import product

import numpy as np
import pytest

from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.batches.batch_law import BatchLaw
from fugu.operators.sip.batches.batch_plan import BatchPlan
from fugu.operators.sip.batches.walk import Walk
from fugu.operators.sip.distances import HAMMING, Distance, Ordered, Points
from tests.operators.sip import dense
from tests.operators.sip.batches.configured import ALGORITHMS, OneAlgorithm, batch_probabilities
from tests.operators.sip.beliefs import random_beliefs
from tests.privacy.chains import random_chain

SHAPES = [(1, 3), (2, 1), (2, 2), (2, 3), (3, 2), (4, 2), (3, 3)]
ROWS = 4
EXACT = np.zeros(ROWS)
"""How far beliefs are from the exact ones."""


def all_batches(symbols: int, window: int) -> Integers:
    return np.array(list(product(range(symbols), repeat=window))).T


def some_words(rng: np.random.Generator, draws: int, rows: int) -> Words:
    return rng.integers(2**64, size=(draws, rows), dtype=np.uint64)


def written_out(algorithm: BatchPlan, belief: Floats) -> Floats:
    """a[o, r, row], from single columns."""
    batches = all_batches(len(belief), algorithm.window)
    count = batches.shape[1]
    row, given, released = np.indices((belief.shape[1], count, count)).reshape(3, -1)
    (made,) = algorithm.algorithms
    law: BatchLaw = made.law(np.ascontiguousarray(belief[:, row]), np.zeros(len(row)))
    flat = law.probability(batches[:, given], batches[:, released])
    return flat.reshape(-1, count, count).transpose(1, 2, 0)


def goes_on(chances: Floats, batches: Integers, released: int) -> Floats:
    """Return the chance of each symbol at each position, given the released ones before it."""
    found, here = np.zeros((len(batches), int(batches.max()) + 1)), chances.copy()
    for position, symbols in enumerate(batches):
        for symbol in range(found.shape[1]):
            found[position, symbol] = here[symbols == symbol].sum() / here.sum()
        here[symbols != symbols[released]] = 0.0
    return found


def cases(name: str, symbols: int, window: int) -> list[tuple[OneAlgorithm, Floats]]:
    rng = np.random.default_rng([symbols, window])
    distances: list[Distance] = [HAMMING, Ordered(), Points(rng.random((symbols, 2)))]
    return [
        (
            OneAlgorithm(
                Walk(random_chain(rng, symbols)),
                window,
                float(np.exp(rng.uniform(np.log(0.05), np.log(8.0)))),
                distance,
                "heuristic",
                ALGORITHMS[name],
            ),
            random_beliefs(rng, symbols, ROWS),
        )
        for distance in distances
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize(("symbols", "window"), SHAPES)
def test_law_posterior_and_cost_are_those_of_the_definitions(
    name: str, symbols: int, window: int
) -> None:
    batches = all_batches(symbols, window)
    for plan, belief in cases(name, symbols, window):
        (algorithm,) = plan.algorithms
        law = algorithm.law(belief, EXACT)
        written = written_out(plan, belief)
        prior = np.stack(
            [batch_probabilities(plan.walk.model, column, window) for column in belief.T], axis=1
        )
        assert written.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
        leaked = dense.leakages(prior, written)
        assert (leaked <= plan.epsilon + 1e-9).all()
        assert (dense.distances(written) <= 2.0 * plan.epsilon + 1e-9).all()
        charged = np.array([in_nats(int(units)) for units in law.charge])
        assert (leaked <= charged + 1e-12).all()
        assert (charged <= in_nats(plan.bound.charge)).all()
        table = plan.distance.table(symbols)
        apart = table[batches[:, :, None], batches[:, None, :]].sum(axis=0)
        expected = np.einsum("or,oyr,oy->r", prior, written, apart)
        few = symbols ** (window - 1) <= 8
        if name != "symbol by symbol" or few:
            assert law.cost == pytest.approx(expected, abs=1e-9)
        for row in range(ROWS):
            for released in np.flatnonzero(written[:, :, row].max(axis=0) > 0.0):
                joint = prior[:, row] * written[:, released, row]
                shown = np.tile(batches[:, [released]], (1, ROWS))
                possible = [r for r in range(ROWS) if written[:, released, r].max() > 0.0]
                seen = algorithm.law(belief[:, possible], EXACT[possible])
                learned = seen.learned(shown[:, : len(possible)])
                posterior = np.array(
                    [
                        [joint[batches[position] == x].sum() for x in range(symbols)]
                        for position in range(window)
                    ]
                )
                mine = learned[:, :, possible.index(row)]
                assert mine == pytest.approx(posterior / joint.sum(), abs=1e-12)
                likely = seen.expected(shown[:, : len(possible)])[:, :, possible.index(row)]
                chances = prior[:, row] @ written[:, :, row]
                assert likely == pytest.approx(goes_on(chances, batches, int(released)), abs=1e-12)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_row_has_the_same_bytes_whichever_rows_are_with_it(name: str) -> None:
    for plan, belief in cases(name, 3, 3):
        (algorithm,) = plan.algorithms
        words = some_words(np.random.default_rng(1), algorithm.draws, ROWS)
        distances = np.linspace(0.0, 1e-9, ROWS)
        batches = np.arange(3 * ROWS).reshape(3, ROWS) % 3
        together = algorithm.law(belief, distances)
        released = together.release(batches, words)
        learned, cost = together.learned(released), together.cost
        for row in range(ROWS):
            apart = algorithm.law(np.ascontiguousarray(belief[:, [row]]), distances[[row]])
            assert (apart.release(batches[:, [row]], words[:, [row]]) == released[:, [row]]).all()
            again = apart.learned(released[:, [row]])
            assert again.tobytes() == np.ascontiguousarray(learned[:, :, [row]]).tobytes()
            assert apart.cost.tobytes() == cost[[row]].tobytes()
            assert apart.charge[0] == together.charge[row]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
def test_releases_are_as_frequent_as_the_law_says(name: str) -> None:
    draws = 100_000
    plan, belief = cases(name, 3, 2)[0]
    (algorithm,) = plan.algorithms
    batches = all_batches(3, 2)
    rng = np.random.default_rng(5)
    given = batches[:, [5]]
    law = algorithm.law(np.tile(belief[:, [0]], draws), np.zeros(draws))
    released = law.release(np.tile(given, draws), some_words(rng, algorithm.draws, draws))
    observed = np.bincount(released[0] * 3 + released[1], minlength=9)
    expected = draws * written_out(plan, belief[:, [0]])[5, :, 0]
    possible = expected > 0.0
    assert observed[~possible].sum() == 0
    statistic = ((observed - expected)[possible] ** 2 / expected[possible]).sum()
    assert statistic < 30.0
