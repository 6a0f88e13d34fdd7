"""Running totals and capped strategies on a sample: rivals that promise the same, and caps."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fugu.dataflows.offline.evaluation.aggregates.capped import CappedFamily
from fugu.dataflows.offline.evaluation.aggregates.totals import EACH_TICK, TotalsFamily
from fugu.dataflows.offline.evaluation.families.by_section import family_of
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.pipeline.config import PipelineFile
from tests.dataflows.offline.evaluation.aggregates.samples import crowd, sample_of, written

TICKS = 12
CAPPED = {"at_most": 3, "per": "4h"}


def totals(directory: Path, **changes: Any) -> PipelineFile:
    section = {"kind": "running_total", "window": None, "epsilon": 5.0, "delta": 1e-6}
    return written(directory, **section | changes)


def test_totals_of_a_horizon_are_compared_with_noise_on_each_tick_and_a_tree(
    tmp_path: Path,
) -> None:
    file = totals(tmp_path, horizon=TICKS, window=1)
    sample = sample_of(tmp_path, file, crowd(TICKS))
    assert family_of(file.pipeline.operator, Wanted()) is TotalsFamily
    family = TotalsFamily.planned(file, sample, Wanted("5"))
    report = family.report(runs=2, seed=0)
    errors = {row.candidate.name: row.utility.errors.absolute.value for row in report.rows}
    assert list(errors) == ["running_total", EACH_TICK, "binary_tree"]
    assert errors["running_total"] < errors[EACH_TICK]
    assert family.truth.figures[-1].tolist() == (family.summed.truth().sum(axis=0)).tolist()
    promises = [row.candidate.mechanism.guarantees()[0] for row in report.rows[:2]]
    assert promises[0].epsilon == promises[1].epsilon
    assert promises[0].window == promises[1].window == 1
    assert report.own.candidate.name == "running_total"


@pytest.mark.slow
def test_caps_of_totals_are_compared_against_totals_without_one(tmp_path: Path) -> None:
    file = totals(tmp_path, contributions=CAPPED)
    sample = sample_of(tmp_path, file, crowd(TICKS))
    family = TotalsFamily.planned(file, sample, Wanted("5", EACH_TICK))
    report = family.report(runs=1, seed=0)
    assert family.caps is not None
    told = family.caps.document(report)
    assert [one["at_most"] for one in told] == [1, 2, 3, 6, 12]
    lost = [float(str(one["bias"])) for one in told]
    assert lost == sorted(lost, reverse=True)
    assert lost[-1] == pytest.approx(0.0, abs=1.0)
    assert np.all(np.diff([one["noise"] for one in told]) > 0)
    least = min(told, key=lambda one: float(str(one["mean_absolute_error"])))["at_most"]
    assert any(f"of these, at_most: {least} errs least" in line for line in report.notes)
    report.draw(tmp_path / "totals.png")
    assert (tmp_path / "totals.png").stat().st_size > 10_000


def test_caps_of_laplace_noise_are_compared_too(tmp_path: Path) -> None:
    file = written(tmp_path, kind="uniform", window=None, epsilon=5.0, contributions=CAPPED)
    sample = sample_of(tmp_path, file, crowd(TICKS))
    assert family_of(file.pipeline.operator, Wanted()) is CappedFamily
    report = CappedFamily.planned(file, sample, Wanted("5")).report(runs=1, seed=0)
    assert report.extra is not None
    caps = report.extra["caps"]
    assert isinstance(caps, list)
    noise = {one["at_most"]: one["noise"] for one in caps}
    assert noise[3] == pytest.approx(2**0.5 * 3 * 2 / 5.0, rel=1e-6)
    assert noise[6] == pytest.approx(2 * noise[3], rel=1e-6)
    assert report.own.candidate.name == "uniform, at most 3"
