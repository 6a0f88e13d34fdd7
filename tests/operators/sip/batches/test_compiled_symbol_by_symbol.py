"""The compiled cost of releasing symbol by symbol equals that of numpy, bit for bit."""

import numpy as np
import pytest

from fugu.operators import compiled
from fugu.operators.sip.batches.symbol_by_symbol import SymbolBySymbol
from fugu.operators.sip.batches.walk import Walk
from fugu.operators.sip.distances import HAMMING, Ordered
from tests.operators.sip.equal_runs import beliefs, dense

SHAPES = [(1, 2), (2, 1), (2, 5), (3, 3), (5, 4), (10, 2), (10, 3)]
EPSILONS = (0.05, 0.5, 1.0, 2.0, 5.0, 40.0)

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")


@pytest.mark.parametrize(("symbols", "window"), SHAPES)
def test_compiled_cost_is_that_of_numpy(
    symbols: int, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng([symbols, window])
    model = dense(symbols, rng)
    for epsilon in EPSILONS:
        fast, slow = (SymbolBySymbol(Walk(model), window, HAMMING, epsilon) for _ in range(2))
        assert fast.is_compiled
        with monkeypatch.context() as without:
            without.setattr(compiled, "available", lambda: False)
            assert not slow.is_compiled
        for rows in beliefs(symbols, rng):
            belief = np.ascontiguousarray(rows.T)
            exact = np.zeros(belief.shape[1])
            costs = fast.law(belief, exact).cost, slow.law(belief, exact).cost
            assert costs[0].tobytes() == costs[1].tobytes()


def test_other_distances_are_left_to_numpy() -> None:
    model = dense(3, np.random.default_rng(1))
    assert not SymbolBySymbol(Walk(model), 2, Ordered(), 1.0).is_compiled
