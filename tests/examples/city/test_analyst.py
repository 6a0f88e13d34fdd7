"""Figures with error bars, on the analyst's side."""

import numpy as np

from examples.city.analyst import Figures
from fugu.operators.noise.unit_laplace import WORDS_PER_DRAW, sample
from fugu.operators.wevent.strategy import standard_errors


def test_95_of_100_bars_hold_the_true_count() -> None:
    price = np.array([2**40 // 20])
    words = np.random.default_rng(1).integers(2**64, size=(20_000, WORDS_PER_DRAW), dtype=np.uint64)
    values = (1_000 + sample(words, price)).astype(np.float64)
    errors = np.full(len(values), float(standard_errors(price)[0]))
    lower, upper = Figures([0] * len(values), values, errors, [True] * len(values)).bars
    assert abs(np.mean((lower <= 1_000) & (upper >= 1_000)) - 0.95) < 0.01


def test_bars_do_not_go_below_nobody() -> None:
    lower, upper = Figures([0], np.array([3.0]), np.array([10.0]), [True]).bars
    assert (lower.tolist(), upper.round(1).tolist()) == ([0.0], [24.2])
