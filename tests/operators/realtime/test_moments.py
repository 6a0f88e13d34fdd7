"""Streaming moments are those of a whole series, far from zero too."""

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.realtime.moments import Moments


def streamed(values: Floats) -> Moments:
    moments = Moments.none(*values.shape[1:])
    for now in values:
        moments = moments.pushed(now)
    return moments


def lag_one(values: Floats) -> Floats:
    apart = values - values.mean(axis=0)
    return np.asarray((apart[1:] * apart[:-1]).sum(axis=0) / (apart * apart).sum(axis=0))


@pytest.mark.parametrize("shift", [0.0, 1e9])
@pytest.mark.parametrize("number", [2, 3, 500])
def test_they_are_those_of_the_batch(shift: float, number: int) -> None:
    steps = np.random.default_rng(number).integers(-50, 51, (number, 4, 3)) / 8.0
    values = np.cumsum(steps, axis=0)
    moments = streamed(shift + values)
    assert moments.mean == pytest.approx(shift + values.mean(axis=0), rel=1e-12)
    assert moments.variance == pytest.approx(values.var(axis=0, ddof=1), rel=1e-9)
    assert moments.correlation == pytest.approx(lag_one(values), rel=1e-9, abs=1e-12)


def test_of_nothing_of_one_value_and_of_equal_values_they_are_zero() -> None:
    for number in range(3):
        moments = streamed(np.full((number, 1, 1), 7.3))
        assert moments.mean.tolist() == [[7.3 if number else 0.0]]
        assert moments.variance.tolist() == moments.correlation.tolist() == [[0.0]]


def test_a_first_value_far_away_costs_no_precision_that_matters() -> None:
    values = np.concatenate([[1e6], np.random.default_rng(1).normal(0.0, 5.0, 1000)])
    moments = streamed(values[:, None, None])
    assert moments.variance[0, 0] == pytest.approx(values.var(ddof=1), rel=1e-9)
