"""Sums of windows from running totals: exact differences, and bars by what errors share."""

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

import fugu
from fugu.dataflows.analysis.running_totals import Totals, errors_of
from fugu.dataflows.kinds.running_total import RunningTotalOperator
from fugu.operators.totals.buffers import Buffers, TotalErrors, decoding_column
from tests.dataflows.analysis.coverage import true_figures
from tests.dataflows.analysis.sanitized import sanitized_figures
from tests.dataflows.kinds.example_files import example_of

TRUTH = 1_000 + np.random.default_rng(3).integers(-5, 6, (2, 48))
CAPPED = {"horizon": None, "contributions": {"at_most": 2, "per": "3h"}}


def read(directory: Path, **changes: object) -> "tuple[fugu.analysis.Topic, TotalErrors]":
    """The topic of two groups, whose ticks are counted from 0 here: a period has 12 of them."""
    file = example_of("running_total", directory, changes)
    operator = file.pipeline.operator
    assert isinstance(operator, RunningTotalOperator)
    records, promise = sanitized_figures(file, TRUTH)
    assert errors_of(promise) == operator.release().errors
    return fugu.read(records, promise=promise), operator.release().errors


def test_a_window_is_the_difference_of_two_totals_with_a_bar_of_its_own(tmp_path: Path) -> None:
    topic, errors = read(tmp_path, window=1)
    series, sums = topic.series().table, topic.totals(4).table
    north = series.filter(np.array(series["group"].to_pylist()) == "north")
    totals = north["estimate"].to_numpy()
    own = sums.filter(np.array(sums["group"].to_pylist()) == "north")
    assert own["estimate"].to_numpy()[1:] == pytest.approx(totals[7::4] - totals[3:-4:4], abs=1e-3)
    expected = [sqrt(errors.of_difference(end - 4, end)) for end in range(4, 49, 4)]
    assert own["standard_error"].to_numpy() == pytest.approx(expected, rel=1e-4)
    apart = sqrt(2.0) * north["standard_error"].to_numpy()[-1]
    assert own["standard_error"].to_numpy()[-1] < 0.9 * apart


@pytest.mark.parametrize("changes", [{"window": 1}, CAPPED])
@pytest.mark.parametrize("window", [1, 5, 6, 20])
def test_sums_of_windows_are_near_the_truth(
    tmp_path: Path, changes: dict[str, object], window: int
) -> None:
    topic, _ = read(tmp_path, **changes)
    table = topic.totals(window).table
    true = true_figures(table, TRUTH.astype(float), window, "running_total")
    off = table["estimate"].to_numpy() - true
    assert len(off) >= 2
    assert np.abs(off / table["standard_error"].to_numpy()).max() < 5.0


def test_errors_of_sums_are_those_of_the_noise_that_is_in_them() -> None:
    """Totals of periods of 2, 4 and 3 ticks as combinations of the noise of all nine, by hand."""
    buffers, noise = Buffers((2**31, 2**29), (2**30, 2**31)), 3.0
    errors, column = TotalErrors(buffers, 4, noise), decoding_column(buffers, 4)
    blocks, positions = np.array([5] * 2 + [6] * 4 + [7] * 3), np.array([1, 2, 1, 2, 3, 4, 1, 2, 3])
    shares = np.zeros((9, 9))
    for tick, (block, position) in enumerate(zip(blocks, positions, strict=True)):
        begin = tick - position + 1
        if begin:
            shares[tick] = shares[begin - 1]
        shares[tick, begin : tick + 1] = column[:position][::-1]
        assert blocks[begin] == block
    stated = noise * np.sqrt((shares**2).sum(axis=1))
    totals = Totals(np.arange(9), np.arange(9.0), stated, blocks, positions, errors)
    assert totals.begins
    for last in range(9):
        for first in range(last):
            exact = noise * sqrt(((shares[last] - shares[first]) ** 2).sum())
            assert totals.sum_after(first, last) == pytest.approx((last - first, exact))
        assert totals.sum_after(None, last)[1] == pytest.approx(stated[last])


def test_a_window_whose_beginning_is_not_known_is_left_out() -> None:
    """The first total of a reader who came later is not the sum of a window."""
    errors = TotalErrors(Buffers((2**31,), (2**30,)), 4, 1.0)
    numbers = np.array([2, 3])
    later = Totals(numbers, numbers * 1.0, np.ones(2), np.zeros(2, dtype=np.int64), numbers, errors)
    assert not later.begins
