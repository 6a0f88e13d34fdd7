"""Batches over very many symbols: exactly private, as costly as said, and the choice of them."""

from itertools import product

import numpy as np
import pytest

from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Floats
from fugu.operators.sip.batches import batch_plan, symbol_by_symbol
from fugu.operators.sip.batches.batch_plan import BatchPlan
from fugu.operators.sip.batches.symbol_by_symbol import MiddleGroups, SymbolBySymbol, cost_of_many
from fugu.operators.sip.batches.walk import Walk
from fugu.operators.sip.distances import HAMMING, Distance, Ordered, Points
from fugu.operators.sip.kernels import choose_kernel
from fugu.operators.sip.markov_model import Chain
from fugu.operators.sip.release_law import ReleaseLaw
from tests.operators.sip import dense
from tests.operators.sip.batches.test_batch_laws import goes_on
from tests.operators.sip.beliefs import random_beliefs
from tests.operators.sip.chains import random_second_order, sparse
from tests.privacy.chains import random_chain

DISTANCES: list[Distance] = [
    HAMMING,
    Ordered(),
    Points(np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 1]])),
]


def prior_of(model: Chain, window: int, steps: int) -> Floats:
    """P(o) of every batch, by following each of them."""
    found = []
    for batch in product(range(model.symbols), repeat=window):
        mass = model.start[:, None]
        for position, symbol in enumerate(batch):
            mass = np.where((model.symbol_of_state == symbol)[:, None], mass, 0.0)
            for _ in range(steps if position + 1 < window else 0):
                mass = model.move(mass)
        found.append(mass.sum())
    return np.array(found)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(("window", "most"), [(1, 2), (2, 2), (3, 3)])
def test_the_law_is_private_and_costs_what_is_said(
    distance: Distance, window: int, most: int
) -> None:
    """Of sparse rows and of second order, with steps between; as for 10,000 symbols."""
    rng = np.random.default_rng(window)
    chains = (sparse(random_chain(rng, 3)), random_second_order(3, 4, seed=window).model())
    for model, steps in product(chains, (1, 3)):
        plan = BatchPlan(Walk(model, steps), window, 2.0, distance, "heuristic")
        algorithm = MiddleGroups(plan.walk, window, distance, "heuristic", plan.bound, most)
        batches = np.array(list(product(range(3), repeat=window))).T.reshape(window, -1)
        count = batches.shape[1]
        given, shown = np.indices((count, count)).reshape(2, -1)
        columns = count * count
        belief = np.tile(model.start[:, None], columns)
        between = np.full((window - 1, columns), steps)
        law = algorithm.law(belief, np.zeros(columns), between)
        chance = law.probability(batches[:, given], batches[:, shown]).reshape(count, count)
        assert chance.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
        prior = prior_of(model, window, steps)
        leaked = dense.leakages(prior[:, None], chance[:, :, None])
        assert (leaked <= in_nats(int(law.charge[0])) + 1e-12).all()
        assert in_nats(int(law.charge[0])) <= 2.0 + 1e-9
        released = np.flatnonzero(chance.max(axis=0) > 0.0)
        for each in released:
            seen = np.tile(batches[:, [each]], columns)
            learned = law.learned(seen)[:, :, 0]
            likely = law.expected(seen)[:, :, 0]
            assert likely == pytest.approx(goes_on(prior @ chance, batches, int(each)), abs=1e-12)
            told = prior * chance[:, each]
            for position, symbols in enumerate(batches):
                expected = np.bincount(symbols, told, 3) / told.sum()
                assert learned[position] == pytest.approx(expected, abs=1e-12)
        table = distance.table(3)
        apart = table[batches[:, :, None], batches[:, None, :]].sum(axis=0)
        expected = float((prior[:, None] * chance * apart).sum())
        assert law.cost[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("distance", DISTANCES)
def test_the_cost_of_many_symbols_is_that_of_few(distance: Distance) -> None:
    rng = np.random.default_rng(5)
    belief = random_beliefs(rng, 3, 40)
    for epsilon in (0.5, 2.0):
        gain, growth = float(np.expm1(epsilon)), float(np.exp(epsilon))
        kernel = choose_kernel(distance, "optimal", "heuristic", 3, gain, growth)
        proposal = kernel.propose(belief)
        law = ReleaseLaw.repaired(belief, proposal, gain, growth)
        written = np.stack([law.probabilities(np.full(40, x)) for x in range(3)])
        far = distance.table(3)
        expected = np.einsum("xr,xyr,xy->r", belief, written, far)
        assert cost_of_many(law, distance) == pytest.approx(expected, abs=1e-12)


def test_the_plan_for_many_symbols_takes_the_cheaper_of_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (batch_plan, symbol_by_symbol, symbol_by_symbol):
        monkeypatch.setattr(module, "MOST_COMPARED", 8)
    line = Points(np.arange(9.0)[:, None])
    stays = sparse(random_chain(np.random.default_rng(2), 9))
    plan = BatchPlan(Walk(stays), 3, 3.0, line, "heuristic")
    assert [type(one) for one in plan.algorithms] == [MiddleGroups, SymbolBySymbol]
    belief = random_beliefs(np.random.default_rng(1), 9, 6)
    costs = [one.law(belief, np.zeros(6)).cost for one in plan.algorithms]
    for part in plan.parts(belief, np.zeros(6)):
        assert part.law.cost == pytest.approx(np.min(costs, axis=0)[part.rows], abs=1e-12)
