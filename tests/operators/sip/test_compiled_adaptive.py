"""The compiled step of adaptive release equals rounds of numpy, bit for bit."""

from collections import Counter

import numpy as np
import pytest

from fugu.operators import compiled
from fugu.operators.mechanism import Inputs, Kind
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.sip.adaptive_release import AdaptiveRelease, Distance
from tests.operators.sip.equal_runs import POSITIONS, beliefs, compare, dense, sparse
from tests.thinned import first_in_test

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("symbols", "distance"),
    first_in_test(
        [
            *((2, "symbol"), (3, "steps"), (65, "symbol")),
            *((1, "symbol"), (1, "steps"), (2, "steps")),
            *((3, "symbol"), (10, "symbol"), (10, "steps")),
        ],
        3,
    ),
)
def test_compiled_and_numpy_give_the_same_bits(symbols: int, distance: Distance) -> None:
    """A tenth of the positions are those of one row, and half of the runs have a budget."""
    rng = np.random.default_rng(symbols)
    for epsilons in ((0.001, 0.7), (0.5, 1.0), (15.0, 8.0)):
        released = 0
        for model in (dense(symbols, rng), sparse(symbols, rng)):
            adaptive = AdaptiveRelease(model, *epsilons, distance)
            for seed, belief in enumerate(beliefs(symbols, rng)):
                released += compare(adaptive, belief, seed, pays_for=3)
        assert released > 1_000
        assert symbols == 1 or released < 10 * POSITIONS


def test_both_kinds_of_releases_come_out_of_a_run() -> None:
    adaptive = AdaptiveRelease(dense(4, np.random.default_rng(1)), 1.0, 1.0)
    scope = DrawScope(Secret(bytes(32)), "p", "adaptive_crr", 1, adaptive.law_digest())
    rows = np.zeros(200, dtype=np.int64)
    draws = scope.draws([b"a"] * 200, record_positions("t", 0, range(200)))
    run = adaptive.run(adaptive.start(1), rows, Inputs(np.arange(200) % 4), draws)
    kinds = run.releases.kinds
    assert kinds is not None
    assert min(Counter(kinds.tolist())[kind] for kind in (Kind.FRESH, Kind.REPEATED)) > 20


def test_a_damaged_state_is_refused_and_nothing_is_done() -> None:
    adaptive = AdaptiveRelease(dense(3, np.random.default_rng(1)), 1.0, 1.0)
    scope = DrawScope(Secret(bytes(32)), "p", "adaptive_crr", 1, adaptive.law_digest())
    state = adaptive.start(4)
    state["belief"][2, 1] = 0.9
    draws = scope.draws([b"a", b"b"], record_positions("t", 0, range(2)))
    with pytest.raises(ValueError, match="the belief of row 2 is not a distribution"):
        adaptive.run(state, np.array([1, 2]), Inputs(np.array([0, 1])), draws)
    state = {**adaptive.start(4), "previous": np.array([0, 3, 0, 0])}
    with pytest.raises(ValueError, match="a last release is no symbol"):
        adaptive.run(state, np.array([1, 2]), Inputs(np.array([0, 1])), draws)
