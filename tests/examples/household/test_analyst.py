"""Figures with error bars, on the analyst's side."""

import numpy as np

from examples.household.analyst import figures_of
from fugu.operators.noise.unit_laplace import WORDS_PER_DRAW, sample
from fugu.operators.wevent.strategy import standard_errors


def test_95_of_100_bars_hold_the_true_figure() -> None:
    price = np.array([2**40 // 20])
    words = np.random.default_rng(1).integers(2**64, size=(20_000, WORDS_PER_DRAW), dtype=np.uint64)
    noisy, error = 1_000 + sample(words, price), float(standard_errors(price)[0])
    lower, upper = figures_of(
        [
            {"start": start, "value": value, "standard_error": error}
            for start, value in enumerate(noisy.tolist())
        ]
    ).bars
    assert abs(np.mean((lower <= 1_000) & (upper >= 1_000)) - 0.95) < 0.01


def test_figures_are_in_the_order_of_ticks_and_may_be_missing() -> None:
    one = {"start": 600, "value": 3.5, "standard_error": 0.0, "status": "exact", "sensitivity": 0.0}
    nothing = {**one, "start": 0, "value": None, "status": "nothing", "sensitivity": 2.2}
    figures = figures_of([one, nothing])
    assert figures.starts == [0, 600]
    assert np.array_equal(figures.values, [np.nan, 3.5], equal_nan=True)
    assert figures.status == ["nothing", "exact"]
    assert figures.share("exact") == 0.5
    assert figures.sensitivities.tolist() == [2.2, 0.0]
