"""Errors: worked out by hand, and known from the law of the noise."""

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from fugu.dataflows.offline.evaluation.aggregates.strategies import WindowFamily
from fugu.dataflows.offline.evaluation.aggregates.utility import Truth
from fugu.dataflows.offline.evaluation.family import Wanted
from tests.dataflows.offline.evaluation.aggregates.samples import ZONES, crowd, sample_of, written

TICKS, RUNS = 60, 3
STANDARD_ERRORS = 4.0


def test_errors_are_means_over_ticks_and_groups() -> None:
    """In tenths; relative to the figure, or to half of one."""
    truth = Truth(np.array([[10, 0], [20, -40]]), units_per_one=10, smallest=5)
    runs = [np.array([[15, 1], [20, -50]]), np.array([[10, 0], [20, -40]])]
    errors = truth.errors(runs)
    assert errors.absolute.value == pytest.approx((0.5 + 0.1 + 0.0 + 1.0) / 4 / 2)
    assert errors.squared.value == pytest.approx((0.25 + 0.01 + 0.0 + 1.0) / 4 / 2)
    assert errors.relative.value == pytest.approx((5 / 10 + 1 / 5 + 0.0 + 10 / 40) / 4 / 2)
    assert errors.absolute.standard_error == pytest.approx(errors.absolute.value), "0 and 2 means"
    assert truth.largest_group == 0


def test_quantiles_are_over_ticks_groups_and_runs() -> None:
    """Distances are 1 to 100 halves, the smaller ones in the first run."""
    truth = Truth(np.zeros((50, 1), dtype=np.int64), units_per_one=2, smallest=1)
    spread = truth.errors([np.arange(1, 51)[:, None], -np.arange(51, 101)[:, None]]).spread
    assert spread.document() == pytest.approx(
        {"5%": 2.975, "25%": 12.875, "50%": 25.25, "75%": 37.625, "95%": 47.525}
    )
    assert spread.cells() == {"median": "25.2", "95 %": "47.5"}


def test_a_constant_guess_is_the_mean_of_everything() -> None:
    truth = Truth(np.array([[10, 0], [20, -10]]), units_per_one=10, smallest=1)
    assert truth.mean == 0.5
    guess = truth.constant_guess()
    assert guess.absolute.value == pytest.approx((0.5 + 0.5 + 1.5 + 1.5) / 4)
    assert guess.squared.value == pytest.approx((0.25 + 0.25 + 2.25 + 2.25) / 4)


@pytest.mark.parametrize(
    ("protects", "sensitivity"), [("contribution", 2), ("presence", 1)], ids=["moves", "presence"]
)
def test_uniform_and_sample_err_as_their_noise_does(
    protects: str, sensitivity: int, tmp_path: Path
) -> None:
    """Nobody moves, and most groups stay empty, so all errors are noise: Laplace, whose mean
    distance and its deviation are the scale; squares have a mean of 2, and a deviation of sqrt(20)
    squared scales."""
    groups = [*ZONES, *(f"zone {number}" for number in range(57))]
    file = written(tmp_path, protects=protects, groups=groups)
    sample = sample_of(tmp_path, file, crowd(TICKS))
    plan = WindowFamily.planned(file, sample, Wanted("0.25", "sample", "5,10"))
    for row in plan.report(RUNS, seed=3).rows:
        candidate, utility = row.candidate, row.utility
        once_a_window = candidate.kind == "sample"
        publications = TICKS // (candidate.window or 1) if once_a_window else TICKS
        scale = sensitivity / 0.25 * (1 if once_a_window else candidate.window or 0)
        draws = publications * len(groups) * RUNS
        assert utility.publications.value == publications
        assert utility.share.value == publications / TICKS
        tolerance = STANDARD_ERRORS / sqrt(draws)
        assert utility.errors.absolute.value == pytest.approx(scale, rel=tolerance)
        squares = 2.0 * scale**2
        assert utility.errors.squared.value == pytest.approx(squares, rel=tolerance * sqrt(5.0))


def test_strategies_that_decide_publish_less_where_nothing_happens(tmp_path: Path) -> None:
    file = written(tmp_path, kind="pba", epsilon=5.0, flags=True)
    sample = sample_of(tmp_path, file, crowd(TICKS))
    plan = WindowFamily.planned(file, sample, Wanted("5", "budget_distribution,uniform"))
    pba, distribution, uniform = plan.report(2, seed=0).rows
    assert [row.configured for row in (pba, distribution, uniform)] == [True, False, False]
    assert pba.utility.publications.value < 0.5 * TICKS
    assert distribution.utility.share.value < 0.5
    assert uniform.utility.share.value == 1.0
