"""Whole evaluations: what is planned, and figures that are known."""

from pathlib import Path

import numpy as np
import orjson
import pytest

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.offline.evaluation.records.family import RecordFamily
from fugu.dataflows.offline.evaluation.records.symbols import SymbolUtility
from fugu.dataflows.offline.evaluation.report import Report, Utility
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from tests.dataflows.offline.evaluation.live import OPERATORS
from tests.dataflows.offline.evaluation.samples import pipeline
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE, read, with_change
from tests.operators.sip.binary_chain import CASES

STEPS, RUNS = 60, 2


def written(directory: Path, rows: list[dict[str, object]], file: PipelineFile) -> Sample:
    path = directory / "sample.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    return Sample.read(path, "key", configure(file).codec)


def short(directory: Path, file: PipelineFile, records: int) -> Sample:
    """Two streams of so many records."""
    rows: list[dict[str, object]] = [
        {"key": user, "zone": "rest"} for _ in range(records) for user in range(2)
    ]
    return written(directory, rows, file)


def test_batches_are_wrong_as_rarely_as_known_at_equal_nats_per_record(tmp_path: Path) -> None:
    """SIP specification, section 10, case 2: single symbols, and lists of 2 with 2 epsilon."""
    case = CASES[2]
    chain = case.model()
    model = {
        **MODEL,
        "alphabet": ["off", "on"],
        "prior": chain.prior.tolist(),
        "transition": chain.transition.tolist(),
        "smoothing": 0.0,
    }
    (tmp_path / "model.json").write_bytes(orjson.dumps(model))
    text = OPERATORS["batched_crr"].replace("[rest, light, vigorous]", '["off", "on"]')
    text = text.replace("window: 3", "window: 2").replace("_batch: 3.0", "_batch: 2.0")
    file = read(tmp_path, text.replace("kernel: heuristic", "kernel: linear_program"))
    truths = case.truths(np.random.default_rng(4), STEPS)
    rows: list[dict[str, object]] = [
        {"key": user, "zone": ["off", "on"][zone]}
        for step in truths
        for user, zone in enumerate(step.tolist())
    ]
    sample = written(tmp_path, rows, file)
    report = RecordFamily.planned(file, sample, Wanted("1", "crr")).report(RUNS, seed=0)
    for row, known in zip(report.rows, (0.0568, 0.1661), strict=True):
        utility = row.utility
        assert isinstance(utility, SymbolUtility)
        assert utility.wrong is not None
        assert utility.wrong.value == pytest.approx(known, abs=0.03)
        assert utility.expected_wrong == pytest.approx(utility.wrong.value, abs=0.03)
        assert row.candidate.per_record("sip") == pytest.approx(1.0)
        spent = utility.spending.spent_per_record
        assert spent is not None
        assert spent <= 1.0 + 1e-6


def notes_of(report: Report[Utility]) -> str:
    return "\n".join(report.notes)


def test_a_stream_that_is_too_short_to_learn_is_said_to_be(tmp_path: Path) -> None:
    file = pipeline(tmp_path, OPERATORS["cold_start_crr"])
    for records, share, says in (
        (4, 0.0, "takes 4 records, and the longest stream has 4."),
        (5, 0.2, "2 of 2 streams come to their learned model, which takes 4 records"),
    ):
        sample = short(tmp_path, file, records)
        report = RecordFamily.planned(file, sample, Wanted("1,2", "grr")).report(1, seed=0)
        [cold, _, grr, _] = [row.utility for row in report.rows]
        assert isinstance(cold, SymbolUtility)
        assert isinstance(grr, SymbolUtility)
        assert cold.learning is not None
        assert cold.learning.share == share
        assert grr.learning is None
        assert (cold.expected_wrong is None) == (cold.of_these is None) == (share == 0)
        assert notes_of(report).count("cold_start_crr at eps 1, 2: ") == 1
        assert says in notes_of(report)


def test_a_budget_that_ends_before_the_model_is_told_from_a_short_stream(tmp_path: Path) -> None:
    file = pipeline(tmp_path, OPERATORS["cold_start_crr"] + "budget: {total: 2}\n")
    sample = short(tmp_path, file, 9)
    report = RecordFamily.planned(file, sample, Wanted("1", "grr")).report(1, seed=0)
    assert "takes 4 records, and the budget ends before" in notes_of(report)


def test_learning_is_a_default_rival_only_where_streams_are_long_enough(tmp_path: Path) -> None:
    text = with_change("epsilon: 1.0", "epsilon: 8.0")
    file = pipeline(tmp_path, text)
    for records, compared in ((500, True), (400, False)):
        plan = RecordFamily.planned(file, short(tmp_path, file, records), Wanted("8"))
        kinds = [one.kind for one in plan.grid.candidates]
        assert ("cold_start_crr" in kinds) == compared
        assert {"crr", "batched_crr", "adaptive_crr", "grr", "oue"} < set(kinds)


def test_what_a_running_pipeline_could_not_keep_is_refused(tmp_path: Path) -> None:
    text = PIPELINE.replace("  directory: ./state\n", "  directory: ./state\n  max_megabytes: 1\n")
    file = pipeline(tmp_path, text)
    sample = short(tmp_path, file, 2)
    with pytest.raises(
        FuguError, match=r"cold_start_crr at 0\.45 nats per record keeps about 1\.4 MB"
    ):
        RecordFamily.planned(file, sample, Wanted("0.45", "cold_start_crr"))
    plan = RecordFamily.planned(file, sample, Wanted("0.45"))
    assert "cold_start_crr" not in [one.kind for one in plan.grid.candidates]


def test_what_a_rival_was_given_is_said(tmp_path: Path) -> None:
    file = pipeline(tmp_path)
    sample = short(tmp_path, file, 2)
    plan = RecordFamily.planned(file, sample, Wanted("1", "batched_crr,adaptive_crr"))
    notes = notes_of(plan.report(1, seed=0))
    assert "As a rival it has window: 2 and kernel: heuristic." in notes
    assert "As a rival it has 25% of eps for the decision." in notes
    own = pipeline(tmp_path, OPERATORS["batched_crr"])
    notes = notes_of(RecordFamily.planned(own, sample, Wanted("1", "crr")).report(1, seed=0))
    assert "As a rival" not in notes
