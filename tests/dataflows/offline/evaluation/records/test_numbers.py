"""Metrics of numbers, by hand."""

from math import isnan, sqrt
from pathlib import Path

import pytest

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.offline.evaluation.records.family import RecordFamily
from fugu.dataflows.offline.evaluation.records.numbers import NumberMeasure, NumberUtility
from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.mechanism import Kind
from fugu.operators.noise.number_release import LaplaceRelease
from tests.dataflows.offline.evaluation.samples import POWER, pipeline, run_of, sample_of
from tests.dataflows.pipeline.pipeline_files import PIPELINE

HALVES = LaplaceRelease(lower=0, upper=200, epsilon=1.0, units_per_one=2)
SAMPLE = sample_of([2, 4, 6, 8], streams=[0, 0, 1, 1])
"""1, 2, 3 and 4, counted in halves."""


def measured(*runs: Run) -> NumberUtility:
    return NumberMeasure(units_per_one=2)(Candidate("laplace", 1.0, HALVES), SAMPLE, runs)


def test_bias_and_root_mean_square_of_single_releases() -> None:
    utility = measured(run_of([2.0, 2.0, 3.0, 4.0]), run_of([1.0, 4.0, 3.0, 1.0]))
    # Differences: run 1 (1, 0, 0, 0), run 2 (0, 2, 0, -3).
    assert utility.bias.value == 0.0
    # By stream: run 1 (1, 0), run 2 (2, -3): variances 1/2 and 9/2, over 2 runs of 4 records.
    assert utility.bias.standard_error == pytest.approx(sqrt(5 / 2) / 4)
    assert utility.root_mean_square.value == pytest.approx(sqrt(14 / 8))


def test_the_error_of_the_mean_is_bias_and_noise_without_counting_noise_twice() -> None:
    utility = measured(run_of([2.0, 3.0, 4.0, 5.0]), run_of([2.0, 3.0, 4.0, 9.0]))
    # The means are off by 1 and 2; stream 2 adds 2 and 6 to them, of 4 records: variance 1/2.
    assert utility.true_mean == 2.5
    assert utility.mean_bias.value == 1.5
    assert utility.mean_bias.standard_error == pytest.approx(0.5)
    assert utility.mean_error == pytest.approx(sqrt(1.5**2 - 0.25 + 2 * 0.25))
    assert utility.predicted == pytest.approx(HALVES.standard_deviation / 2)


def test_what_is_repeated_is_published_but_not_averaged() -> None:
    kinds = [Kind.FRESH, Kind.REPEATED, Kind.FRESH, Kind.REPEATED]
    utility = measured(run_of([1.0, 1.0, 3.0, 3.0], kinds=kinds))
    assert utility.bias.value == -0.5
    assert utility.mean_bias.value == -0.5, "1 and 3, but of the numbers 1 to 4"
    assert utility.mean_error == 0.5
    assert utility.predicted == pytest.approx(HALVES.standard_deviation / sqrt(2))
    assert utility.spending.repeated == 0.5


def test_without_anything_fresh_there_is_no_mean() -> None:
    utility = measured(run_of([0.0] * 4, kinds=[Kind.REPEATED] * 4))
    assert isnan(utility.mean_bias.value)
    assert utility.predicted is None
    assert utility.tables()["The mean of all records"] == {
        "true": "2.500",
        "bias": "—",
        "RMS error": "—",
        "predicted": "—",
    }


def test_noise_is_measured_as_it_is_predicted_and_clamping_shows_as_bias(tmp_path: Path) -> None:
    file = pipeline(tmp_path, POWER)
    path = tmp_path / "sample.jsonl"
    watts = [25.5, 60, 150]
    lines = (f'{{"key": {user}, "watts": {watts[user % 3]}}}' for user in range(1_500))
    path.write_text("\n".join(lines))
    sample = Sample.read(path, "key", configure(file).codec)
    [row] = RecordFamily.planned(file, sample, Wanted("2", "laplace")).report(runs=6, seed=0).rows
    utility = row.utility
    assert isinstance(utility, NumberUtility)
    deviation = sqrt(2) * 100 / 2
    # A third of the records lose 50 of their 150 watts.
    assert utility.bias.value == pytest.approx(-50 / 3, abs=4 * deviation / sqrt(9_000))
    assert utility.bias.standard_error == pytest.approx(deviation / sqrt(9_000), rel=0.1)
    assert utility.predicted == pytest.approx(deviation / sqrt(1_500), rel=1e-3)
    single = sqrt(deviation**2 + 50**2 / 3)
    assert utility.root_mean_square.value == pytest.approx(single, rel=0.05)


def test_topl_stands_on_the_axis_of_proved_privacy_and_gains_where_a_range_is_too_wide(
    tmp_path: Path,
) -> None:
    file = pipeline(tmp_path, POWER.replace("upper: 100", "upper: 2000"))
    sample = sample_of([20 + 3 * (user % 40) for user in range(3_000)], list(range(3_000)))
    report = RecordFamily.planned(file, sample, Wanted("4", None)).report(runs=2, seed=0)
    rows = {row.candidate.name: row for row in report.rows}
    topl, laplace = rows["topl (offline)"], rows["laplace"]
    assert topl.candidate.place("ldp") == laplace.candidate.place("ldp") == 4.0
    assert isinstance(topl.utility, NumberUtility)
    assert isinstance(laplace.utility, NumberUtility)
    assert topl.utility.true_mean == pytest.approx(39.25, rel=0.01)
    assert topl.utility.root_mean_square.value < laplace.utility.root_mean_square.value / 2
    assert topl.utility.predicted is None
    assert any("topl (offline): no pipeline runs it. The first 300" in n for n in report.notes)
    assert any(line.strip().startswith("1. topl (offline) at eps 4") for line in report.ranking)


def test_tops_errs_least_in_the_mean_and_has_no_place_among_proofs_about_one_release(
    tmp_path: Path,
) -> None:
    file = pipeline(tmp_path, POWER.replace("upper: 100", "upper: 2000"))
    sample = sample_of([20 + 3 * (user % 40) for user in range(3_000)], list(range(3_000)))
    report = RecordFamily.planned(file, sample, Wanted("1", "tops")).report(runs=4, seed=0)
    rows = {row.candidate.name: row for row in report.rows}
    tops, laplace = rows["tops (offline)"], rows["laplace"]
    assert isinstance(tops.utility, NumberUtility)
    assert isinstance(laplace.utility, NumberUtility)
    assert tops.candidate.place("ldp") is None
    assert tops.utility.mean_error < laplace.utility.mean_error / 10
    assert any("its eps is for one record in all releases" in n.lower() for n in report.notes)
    assert not any("tops" in line for line in report.ranking)


@pytest.mark.parametrize(
    ("kind", "records", "text", "says"),
    [
        ("topl", 50, POWER, "50 are too few; give a sample of at least 1,000"),
        ("tops", 50, POWER, "50 are too few; give a sample of at least 1,000"),
        ("topl", 50, PIPELINE, "not about"),
        ("tops", 2_000, POWER.replace("unit: 0.5", "unit: 1e-9"), "take a larger unit"),
    ],
)
def test_a_rival_that_pools_records_is_refused_where_it_cannot_be(
    kind: str, records: int, text: str, says: str, tmp_path: Path
) -> None:
    sample = sample_of([0, 1] * (records // 2), [0, 1] * (records // 2))
    with pytest.raises(FuguError, match=f"--rivals {kind}: .*{says}"):
        RecordFamily.planned(pipeline(tmp_path, text), sample, Wanted("0.1", kind))
