"""Costs and errors, worked out by hand and held against what is expected."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.offline.evaluation.temporal.displaced import Displaced
from fugu.dataflows.offline.evaluation.temporal.family import TemporalFamily
from fugu.dataflows.offline.evaluation.temporal.measure import TemporalMeasure
from fugu.dataflows.offline.evaluation.temporal.numbers import Numbers, Reading
from fugu.dataflows.offline.evaluation.temporal.utility import TemporalUtility
from fugu.operators.temporal.dispatch_law import Costs
from fugu.operators.temporal.random_delays import BackwardPerturbation
from tests.dataflows.offline.evaluation.samples import sample_of as plain_sample
from tests.dataflows.offline.evaluation.temporal.samples import SECONDS, numbered, sample_of
from tests.dataflows.stages.displaced.running import pipeline_file

SAMPLE = plain_sample([0] * 6, streams=[0] * 6)
BACKWARD = BackwardPerturbation(k=2, epsilon=1.0)
"""Its lag, rounded, is 0."""
RUN = Displaced(
    streams=np.zeros(6, dtype=np.int64),
    ticks=np.arange(6),
    numbers=np.arange(1, 7),
    held=np.arange(6),
    released=np.array([-1, 1, 1, 2, -1, 4]),
    dead=DeadLetters(),
)


def by_hand(numbers: Numbers | None) -> TemporalUtility:
    costs = Costs(missing=100.0, repeated=10.0, empty=1000.0, delay=1.0)
    return TemporalMeasure(SAMPLE, costs, numbers).displacing(BACKWARD, [RUN])


def test_costs_are_of_values_whose_whole_window_was_seen() -> None:
    """Those are 0 to 4: 0 and 3 never leave, 1 leaves twice, 2 and 4 one tick late."""
    costs = by_hand(None).costs
    assert costs.missing.value == 2 / 5
    assert costs.repeated.value == 1 / 5
    assert costs.delay.value == 2 / 5
    assert costs.empty.value == 1 / 5, "the first tick is before the first whole window"
    assert costs.total.value == pytest.approx(40 + 2 + 0.4 + 200)


def test_empty_ticks_add_nothing_to_counts_and_are_left_out_of_averages() -> None:
    values = np.array([5.0, 1.0, 7.0, 2.0, 9.0, 1.0])
    utility = by_hand(Numbers(values, Reading(average=2, count_above=4.0)))
    assert utility.count is not None
    assert utility.average is not None
    # True counts 1 1 2 2 3 3; counts of what left 0 0 0 1 1 2.
    assert utility.count.plain.value == np.mean([1, 1, 4, 1, 4, 1])
    # True averages 5 3 4 4.5 5.5 5; of what left none, 1, 1, 4, 7, 9.
    assert utility.average.plain.value == np.mean(np.array([2, 3, 0.5, 1.5, 4]) ** 2)


def test_the_last_value_that_left_is_what_a_tick_tells_in_the_unit_of_values() -> None:
    values = np.array([5.0, 1.0, 7.0, 2.0, 9.0, 1.0])
    utility = by_hand(Numbers(values, Reading(count_above=4.0)))
    # Readers have none, 1, 1, 7, 7, 9.
    _, error = utility.ranked_by()
    assert error.value == np.mean([0, 6, 5, 2, 8])
    assert utility.why() == "values leave 0.400 ticks late, 40.00% never do, cost 242"
    timed = replace(utility, tick_milliseconds=60_000)
    assert timed.why().startswith("values leave 0.400 ticks (24.0 s) late")
    assert by_hand(None).ranked_by()[0] == "the total cost per value (operator.costs)"


def test_rivals_of_the_own_law_are_ranked_beside_it_and_a_constant_is_the_median(
    tmp_path: Path,
) -> None:
    """The law has a little less than its epsilon in three digits, which rivals get."""
    file = pipeline_file(tmp_path, {}, {"window": 5, "threshold": 3})
    sample = sample_of(tmp_path, file, numbered(users=4, steps=30))
    plan = TemporalFamily.planned(file, sample, Wanted(None, value_range="0,200"))
    words = "\n".join(plan.report(runs=2, seed=0).ranking)
    for name in ("threshold", "backward", "laplace, eps/2"):
        assert words.count(f". {name} at eps 1.7") == 1, "its law has 1.695"
    assert "eps 3.4" not in words, "where the threshold is the same"
    guess = plan.constant_guess()
    assert guess is not None
    values = np.arange(sample.records)
    assert guess.error == pytest.approx(np.abs(values - np.median(values)).mean())


def test_by_default_the_count_splits_the_values_most_evenly() -> None:
    moves = np.array([-1.0, 1.0, 1.0, np.nan])
    assert Numbers(moves, Reading()).counted_from == -1.0
    assert Numbers(np.arange(10.0), Reading()).counted_from == 4.0


@pytest.mark.parametrize("ticks", ["sequence", SECONDS])
def test_measured_costs_are_the_expected_ones(ticks: object, tmp_path: Path) -> None:
    """Within four standard errors of what is drawn for each of some 2,400 values."""
    file = pipeline_file(tmp_path, {}, {"ticks": ticks, "window": 5, "threshold": 3})
    sample = sample_of(tmp_path, file, numbered(users=20, steps=60))
    plan = TemporalFamily.planned(file, sample, Wanted("1,3"))
    report = plan.report(runs=2, seed=0)
    assert {row.candidate.name for row in report.rows} == {
        "threshold",
        "extended_threshold",
        "backward",
        "forward",
        "grr, eps/2",
    }
    for row in report.rows:
        utility = row.utility
        assert isinstance(utility, TemporalUtility)
        assert utility.count is not None
        if row.candidate.kind == "grr":
            assert np.isnan(utility.costs.total.value)
            assert utility.count.filled.value > 0
            continue
        measured, expected = utility.costs, utility.expected
        for name in ("missing", "repeated", "empty"):
            share = getattr(expected, name).value
            error = np.sqrt(share * (1 - share) / 2_400)
            assert getattr(measured, name).value == pytest.approx(share, abs=4 * error + 1e-12)
        assert measured.delay.value == pytest.approx(expected.delay.value, abs=4 * 2 / 49)
