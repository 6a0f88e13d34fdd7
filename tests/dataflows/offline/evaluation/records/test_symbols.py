"""Metrics of symbols: by hand, and against error rates that are known."""

from pathlib import Path

import numpy as np
import orjson
import pytest

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import Estimate, mean_of_runs
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.offline.evaluation.records.family import RecordFamily
from fugu.dataflows.offline.evaluation.records.symbols import SymbolMeasure, SymbolUtility
from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Kind
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import HAMMING, Distance, Ordered, Points
from fugu.operators.sip.markov_model import MarkovModel
from tests.dataflows.offline.evaluation.samples import run_of, sample_of
from tests.dataflows.pipeline.pipeline_files import read, with_change

SYMBOLS = ["rest", "light", "vigorous"]
SAMPLE = sample_of([0, 0, 1, 2], streams=[0, 1, 0, 1])
UNIFORM = MarkovModel.smoothed([1 / 3] * 3, [[1 / 3] * 3] * 3, 0.0)
CANDIDATE = Candidate("crr", 1.0, ConditionalRandomizedResponse(UNIFORM, epsilon=1.0))
OTHER = 1 / (3 * np.e)
"""P(truth is another given symbol) after a release: e^-epsilon of the belief."""
HALF = (1 - 2 * OTHER + OTHER) / 2
"""The mean posterior of a symbol that half of the releases are, where the others are one other."""


def measured(*runs: Run) -> SymbolUtility:
    return SymbolMeasure(SYMBOLS, Ordered())(CANDIDATE, SAMPLE, runs)


def test_error_rate_distance_and_their_standard_errors() -> None:
    utility = measured(run_of([0, 0, 1, 0]), run_of([0, 1, 1, 2]))
    # Errors by stream: run 1 (0, 1), run 2 (0, 1); the same from run to run.
    assert utility.wrong == Estimate(2 / 8, 0.0)
    # Distances by stream: run 1 (0, 2), run 2 (0, 1): variance 1/2, over 2 runs of 4 records.
    assert utility.distance is not None
    assert utility.distance.value == 3 / 8
    assert utility.distance.standard_error == pytest.approx(np.sqrt(0.5 / 2) / 4)


@pytest.mark.parametrize(
    ("distance", "mean", "shown"),
    [
        (HAMMING, 2 / 4, ""),
        (Ordered(), 3 / 4, ", and the mean distance: places in the alphabet"),
        (
            Points(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])),
            (1 + 5) / 4,
            ", and the mean distance: Euclidean, between the declared points",
        ),
    ],
)
def test_the_mean_distance_is_the_declared_one(distance: Distance, mean: float, shown: str) -> None:
    utility = SymbolMeasure(SYMBOLS, distance)(CANDIDATE, SAMPLE, [run_of([2, 1, 1, 2])])
    assert utility.distance is not None
    assert utility.distance.value == mean
    title = next(iter(utility.tables()))
    assert title == f"Single records: how often wrong{shown}"
    assert ("distance" in utility.tables()[title]) == bool(shown), "hamming is how often wrong"
    assert utility.document()["distance"] == distance.identity()[0]


def test_a_single_run_has_no_standard_error() -> None:
    wrong = measured(run_of([2, 2, 2, 2])).wrong
    assert wrong is not None
    assert wrong.value == 3 / 4
    assert np.isnan(wrong.standard_error)


def test_shares_as_released_lean_and_their_errors_have_three_norms() -> None:
    released = measured(run_of([0, 0, 0, 1]), run_of([0, 0, 1, 0])).released
    assert released is not None
    bias, error = mean_of_runs(released.differences)
    assert bias.tolist() == [1 / 4, 0.0, -1 / 4]
    assert error.tolist() == [0.0, 0.0, 0.0]
    assert released.total_variation == Estimate(1 / 4, 0.0)
    assert released.largest == Estimate(1 / 4, 0.0)
    assert released.root_mean_square.value == pytest.approx(np.sqrt(2 / 48))


def test_debiased_shares_are_the_mean_posterior() -> None:
    debiased = measured(run_of([0, 0, 1, 1])).debiased
    assert debiased is not None
    assert debiased.runs[0] == pytest.approx([HALF, HALF, OTHER])


def test_what_is_not_fresh_counts_as_published_but_not_for_debiased_shares() -> None:
    kinds = [Kind.FRESH, Kind.FRESH, Kind.REPEATED, Kind.SUPPRESSED]
    utility = measured(
        run_of([0, 1, 0, 0], kinds=kinds, confidence=[0.75, 0.25, np.nan, np.nan], spent=[3, 1])
    )
    assert utility.wrong is not None
    assert utility.wrong.value == 2 / 3
    assert utility.expected_wrong == 0.5
    assert utility.released is not None
    assert utility.released.runs[0] == pytest.approx([2 / 3, 1 / 3, 0])
    assert utility.debiased is not None
    assert utility.debiased.runs[0] == pytest.approx([HALF, HALF, OTHER])
    spending = utility.spending
    assert (spending.repeated, spending.suppressed) == (1 / 4, 1 / 4)
    assert (spending.mean_spent, spending.largest_spent) == (2 / UNITS_PER_NAT, 3 / UNITS_PER_NAT)


def test_where_nothing_fresh_was_released_nothing_is_debiased() -> None:
    utility = measured(run_of([0] * 4, kinds=[Kind.SUPPRESSED] * 4))
    assert utility.debiased is None
    assert utility.released is None
    title = "Single records: how often wrong, and the mean distance: places in the alphabet"
    assert set(utility.tables()[title].values()) == {"—"}


def test_releases_that_are_sets_have_shares_but_no_error_rate() -> None:
    sets = [[True, False, False], [True, True, False], [False] * 3, [False, False, True]]
    runs = [run_of(sets)]
    utility = SymbolMeasure(SYMBOLS)(Candidate("sets", 1.0, Unread()), SAMPLE, runs)
    assert utility.wrong is None
    assert utility.distance is None
    assert utility.debiased is None
    assert utility.released is not None
    assert utility.released.runs[0].tolist() == [2 / 4, 1 / 4, 1 / 4]


class Unread(ConditionalRandomizedResponse):
    """Stands for a mechanism whose releases nobody knows how to read."""

    observe = None  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(UNIFORM, epsilon=1.0)


@pytest.mark.parametrize(("kind", "epsilon", "rate"), [("crr", 1, 0.7282), ("crr", 4, 0.0165)])
def test_uniform_symbols_without_memory_are_wrong_as_often_as_known(
    kind: str, epsilon: float, rate: float, tmp_path: Path
) -> None:
    """SIP specification, section 3.6, within four standard errors of 8,000 releases."""
    letters = [f"s{number}" for number in range(10)]
    model = {
        "format": "fugu-markov-model",
        "format_version": 2,
        "alphabet": letters,
        "prior": "uniform",
        "transition": [[0.1] * 10] * 10,
        "smoothing": 0.0,
    }
    (tmp_path / "model.json").write_bytes(orjson.dumps(model))
    text = with_change("[rest, light, vigorous]", f"[{', '.join(letters)}]")
    file = read(tmp_path, text)
    path = tmp_path / "sample.jsonl"
    lines = [
        {"key": user, "zone": letters[(user + step) % 10]}
        for step in range(20)
        for user in range(100)
    ]
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    sample = Sample.read(path, "key", configure(file).codec)
    plan = RecordFamily.planned(file, sample, Wanted(str(epsilon), kind))
    [row] = plan.report(runs=4, seed=1).rows
    assert isinstance(row.utility, SymbolUtility)
    wrong = row.utility.wrong
    assert wrong is not None
    error = np.sqrt(rate * (1 - rate) / 8_000)
    assert wrong.value == pytest.approx(rate, abs=4 * error)
    assert wrong.standard_error == pytest.approx(error, rel=0.3)
    expected = row.utility.expected_wrong
    assert expected == pytest.approx(rate, abs=5e-5), "releases say so themselves"
