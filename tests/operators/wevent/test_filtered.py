"""Strategies with a filter: their constants go with what is counted."""

import numpy as np
import pytest

from fugu.operators.auditing.chosen_noise import ChosenNoise
from fugu.operators.mechanism import Inputs
from fugu.operators.wevent.fast import Fast
from fugu.operators.wevent.filtered import FilteredStrategy
from fugu.operators.wevent.rescue_dp import RescueDp

TICKS = 120


@pytest.mark.parametrize("kind", [Fast, RescueDp])
def test_figures_counted_in_other_units_are_filtered_alike(kind: type[FilteredStrategy]) -> None:
    """Sums in hundredths, as sums in wholes: the same samples and the same estimates."""
    rng = np.random.default_rng(3)
    truth = 1000 + np.cumsum(rng.integers(-40, 41, (TICKS, 1, 2)), axis=0)
    none = ChosenNoise({"release": np.zeros((1, 2), dtype=np.int64)})
    runs = []
    for units in (1, 100):
        strategy = kind(2, 60, 20.0, 5 * units, contribution=5 * units)
        state, sampled, estimates = strategy.start(1), [], []
        for values in truth:
            state, releases = strategy.step(state, Inputs(values * units), none)
            sampled.append(bool(releases.annotations["published"][0]))
            estimates.append(state["estimate"][0] / units)
        runs.append((sampled, np.array(estimates)))
    (one_sampled, one), (other_sampled, other) = runs
    assert one_sampled == other_sampled
    assert 3 < sum(one_sampled) < TICKS
    assert other == pytest.approx(one, rel=1e-6)
