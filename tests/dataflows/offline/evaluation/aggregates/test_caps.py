"""Personal caps on a sample: what is cut off, and which cap is said to err least."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fugu.dataflows.kinds import RealTimeOperator
from fugu.dataflows.offline.evaluation.aggregates.caps import with_other_caps
from fugu.dataflows.offline.evaluation.aggregates.real_time import RealTimeFamily
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.pipeline.config import PipelineFile
from tests.dataflows.offline.evaluation.aggregates.samples import crowd, sample_of, written

TICKS = 10


def capped(directory: Path, at_most: int) -> PipelineFile:
    """Everybody of the crowd is there in every tick."""
    contributions = {"at_most": at_most, "per": "36500d", "allowance": "first"}
    operator: dict[str, Any] = {"kind": "real_time", "window": None, "epsilon": 5.0, "delta": 1e-6}
    return written(directory, **operator, contributions=contributions)


def test_the_caps_of_a_sample_are_compared_against_figures_without_one(tmp_path: Path) -> None:
    file = capped(tmp_path, at_most=4)
    sample = sample_of(tmp_path, file, crowd(TICKS))
    family = RealTimeFamily.planned(file, sample, Wanted("5", "baseline"))
    report = family.report(runs=1, seed=0)
    assert family.caps is not None
    told = family.caps.document(report)
    assert [one["at_most"] for one in told] == [1, 2, 4, 8, 16]
    ticks = family.caps.uncapped.ticks
    expected = [max(0.0, 1.0 - at_most / ticks) for at_most in (1, 2, 4, 8, 16)]
    assert [one["cut_share"] for one in told] == pytest.approx(expected, abs=0.02)
    assert np.all(np.diff([one["noise"] for one in told]) > 0)
    errors = {one["at_most"]: one["mean_absolute_error"] for one in told}
    least = min(errors, key=lambda at_most: float(str(errors[at_most])))
    words = list(family.promises(report))
    assert any(f"of these, at_most: {least} errs least" in line for line in words)
    assert any("only if the sample is public" in line for line in words)
    assert report.own.candidate.name == "adaptive, at most 4"


def test_no_cap_is_tried_beyond_the_ticks_of_a_period(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        kind="real_time",
        window=None,
        epsilon=5.0,
        delta=1e-6,
        contributions={"at_most": 3, "per": "1h"},
    )
    operator = file.pipeline.operator
    assert isinstance(operator, RealTimeOperator)
    cap = operator.personal_cap
    assert cap is not None
    tried = [one.contributions.at_most for one in with_other_caps(operator) if one.contributions]
    assert tried == sorted(tried)
    assert max(tried) <= cap.ticks
    assert 3 in tried
