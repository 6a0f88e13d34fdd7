"""A state of the implementation before goes on: same estimates and budgets, bars that widen."""

import numpy as np
import pytest

from fugu.operators.realtime import filter as filtering
from fugu.operators.realtime.older_states import ADDED, continued


@pytest.mark.parametrize("ticks", [0, 1, 2, 50])
def test_an_older_state_goes_on(ticks: int) -> None:
    rng, noise = np.random.default_rng(1), np.array([[4.0], [9.0]])
    state = filtering.start(2, 3)
    for tick in range(ticks):
        noisy = 100.0 + 0.5 * tick + rng.normal(0.0, 1.0, (2, 3))
        state, _ = filtering.advance(state, noisy, noise)
    old = {name: column for name, column in state.items() if name not in ADDED}
    spent = np.array([5, 7])
    converted = continued({**old, "spent": spent})
    assert converted.pop("spent").tolist() == spent.tolist()
    assert converted.keys() == filtering.start(2, 3).keys()
    for name, column in filtering.start(2, 3).items():
        assert (converted[name].dtype, converted[name].shape) == (column.dtype, column.shape)
    for _ in range(5):
        state, expected = filtering.skip(state, noise)
        converted, told = filtering.skip(converted, noise)
        assert told.estimate.tobytes() == expected.estimate.tobytes()
        if ticks >= 2:
            assert (told.error > 0.5 * expected.error).all()
            assert (told.error < 2.0 * expected.error).all()
    noisy = np.full((2, 3), 120.0)
    expected_state, expected = filtering.advance(state, noisy, noise)
    after, told = filtering.advance(converted, noisy, noise)
    assert told.estimate.tobytes() == expected.estimate.tobytes()
    for name in old:
        assert after[name].tobytes() == expected_state[name].tobytes()
