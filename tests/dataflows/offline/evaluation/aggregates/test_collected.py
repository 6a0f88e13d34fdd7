"""Compare counts from private reports with each other, and with single reports."""

from pathlib import Path

import numpy as np
import pytest

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.offline.evaluation.aggregates.collected import RIVALS, CollectedFamily
from fugu.dataflows.offline.evaluation.families.by_section import family_of
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.offline.evaluation.report import Report
from tests.dataflows.offline.evaluation.aggregates.samples import crowd, sample_of, written

TICKS, USERS = 9, 90


def report(folder: Path, rivals: str | None = None, epsilons: str = "20") -> Report:  # type: ignore[type-arg]
    file = written(folder, kind="lbu", window=3, epsilon=20.0)
    sample = sample_of(folder, file, crowd(TICKS, USERS))
    wanted = Wanted(epsilons=epsilons, rivals=rivals)
    family = family_of(file.pipeline.operator, wanted)
    assert family is CollectedFamily
    return family.planned(file, sample, wanted).report(runs=2, seed=1)


def test_all_of_them_and_reports_of_single_streams_are_rivals(tmp_path: Path) -> None:
    found = report(tmp_path)
    assert {row.candidate.kind for row in found.rows} == set(RIVALS)
    assert sum(row.configured for row in found.rows) == 1
    errors = {row.candidate.kind: row.utility.errors.absolute.value for row in found.rows}
    assert all(error < 45 for error in errors.values())
    assert errors["lsp"] < errors["lbu"], "users who stay are counted best by few good reports"
    notes = "\n".join(found.notes)
    assert "decide one tick ahead" in notes
    assert "whether a user is there is not hidden" in notes


def test_uniform_counts_err_as_their_law_says(tmp_path: Path) -> None:
    """n v of 90 users, with epsilon / window = 2 for each report."""
    found = report(tmp_path, rivals="lbu", epsilons="6")
    [row] = found.rows
    v = np.exp(1.0) / (np.exp(1.0) - 1.0) ** 2
    assert row.utility.errors.squared.value == pytest.approx(USERS * v, rel=0.5)


def test_an_aggregate_with_a_trusted_collector_is_no_rival(tmp_path: Path) -> None:
    with pytest.raises(FuguError, match="--rivals pba: is nothing to compare lbu with"):
        report(tmp_path, rivals="pba")
