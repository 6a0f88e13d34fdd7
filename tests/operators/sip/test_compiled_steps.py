"""A compiled cold start gives what rounds of steps give, also where streams learn on the way."""

import numpy as np
import pytest

from fugu.operators import compiled
from fugu.operators.mechanism import Inputs
from fugu.operators.multi_step import run_in_rounds
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.sip.cold_start import ColdStart

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")
ROWS, POSITIONS, BATCHES = 12, 60, 5


@pytest.mark.parametrize("symbols", [2, 5, 16])
@pytest.mark.parametrize("pays_for", [None, 9])
def test_compiled_and_numpy_give_the_same_bits(symbols: int, pays_for: int | None) -> None:
    cold = ColdStart(symbols, epsilon=1.5, positions=12, when_short="accept")
    total = None if pays_for is None else cold.largest_charge * pays_for
    scope = DrawScope(Secret(bytes(32)), "p", cold.kind, 1, cold.law_digest())
    rng = np.random.default_rng(symbols)
    state = cold.start(ROWS)
    warm = set[int]()
    for batch in range(BATCHES):
        rows = np.where(rng.random(POSITIONS) < 0.2, 0, rng.integers(ROWS, size=POSITIONS))
        truth = Inputs(rng.integers(symbols, size=POSITIONS))
        keys = [b"user %d" % row for row in rows.tolist()]
        draws = scope.draws(keys, record_positions("t", batch, range(POSITIONS)))
        run = cold.run(state, rows, truth, draws, total)
        rounds = run_in_rounds(cold, state, rows, truth, draws, total)
        for name, column in rounds.state.items():
            assert run.state[name].tobytes() == column.tobytes(), name
        assert (run.releases.values == rounds.releases.values).all()
        confidence = rounds.releases.annotations["confidence"]
        assert np.array_equal(run.releases.annotations["confidence"], confidence, equal_nan=True)
        assert (run.ledger["spent"] == rounds.ledger["spent"]).all()
        assert (run.paid == rounds.paid).all()
        state = run.state
        warm.add(int((state["begun"] == cold.positions).sum()))
    assert (len(warm) > 2) == (total is None)
    assert bool(run.paid.all()) == (total is None)


def test_a_damaged_belief_is_refused() -> None:
    cold = ColdStart(3, epsilon=1.0, positions=1, when_short="accept")
    scope = DrawScope(Secret(bytes(32)), "p", cold.kind, 1, cold.law_digest())
    state = {**cold.start(2), "begun": np.array([0, 1])}
    draws = scope.draws([b"a"], record_positions("t", 0, range(1)))
    with pytest.raises(ValueError, match="is not a distribution"):
        cold.run(state, np.array([1]), Inputs(np.array([2])), draws)
