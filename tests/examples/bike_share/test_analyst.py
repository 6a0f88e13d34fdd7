"""Figures with error bars, on the analyst's side."""

import numpy as np

from examples.bike_share.analyst import Figures


def test_95_of_100_bars_hold_the_true_count() -> None:
    number, none = 20_000, np.zeros(20_000)
    noise = np.random.default_rng(1).normal(0.0, 40.0, number)
    lower, upper = Figures(
        [0] * number, 500.0 + noise, np.full(number, 40.0), none == 0.0, none, none
    ).bars
    assert abs(np.mean((lower <= 500.0) & (upper >= 500.0)) - 0.95) < 0.01
