"""Simulations of the long run: an end that is reached sooner tells the same."""

import numpy as np
import pytest

from fugu.operators.sip.long_run import accuracy_up_to, simulate
from fugu.operators.sip.model_sets import ModelIntervals
from fugu.operators.sip.robust_release import RobustRelease
from tests.privacy.chains import random_chain


@pytest.mark.parametrize("symbols", [2, 5])
def test_an_accuracy_up_to_a_limit_is_that_of_the_whole_simulation(symbols: int) -> None:
    model = random_chain(np.random.default_rng(1), symbols)
    robust = RobustRelease(model, 1.0, intervals=ModelIntervals.around(model, share=0.1))
    whole = simulate(robust, 6, 20).accuracy
    assert 0.0 < whole < 1.0
    for most, expected in ((whole, whole), (1.0, whole), (whole - 1e-9, None), (0.1, None)):
        assert accuracy_up_to(robust, 6, 20, most) == expected
