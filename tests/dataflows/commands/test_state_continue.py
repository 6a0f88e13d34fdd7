"""`fugu state continue`: what cannot be continued is refused before anything is touched."""

from array import array
from pathlib import Path

import numpy as np
import orjson
import pytest
from typer.testing import CliRunner

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.commands.state_continue import change_between
from fugu.dataflows.pipeline.mechanisms import columns_of
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.stages.per_record import exhaustible
from fugu.dataflows.state.row_log import RowLog
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.budget_units import UNITS_PER_NAT
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE

GRR = PIPELINE.replace("kind: crr", "kind: grr").replace("  model: model.json\n", "")
BUDGET = "budget: {total: 20}\n"
CRR = "version: 2\n" + PIPELINE
TIMED = CRR.replace(
    "  model: model.json\n", "  model: model.json\n  step: {length: 1m, longest_gap: 9}\n"
)


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUGU_TEST_SECRET", "ab" * 32)


def written(directory: Path, before: str, after: str) -> tuple[Path, Path]:
    (directory / "model.json").write_bytes(orjson.dumps(MODEL | {"smoothing": 0.01}))
    paths = directory / "before.yaml", directory / "after.yaml"
    for path, text in zip(paths, (before, after), strict=True):
        path.write_text(text)
    return paths


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (PIPELINE, CRR, "the state of crr cannot be continued by crr"),
        (GRR, "version: 2\n" + GRR, "the state of grr cannot be continued by grr"),
        (GRR, PIPELINE, "version: must be above 1"),
        (GRR, CRR.replace("pseudonym", "none"), "sink.key: releases without keys"),
        (GRR + BUDGET, CRR, "budget: a budget stays"),
        (GRR, TIMED, "operator.step: when a release was made is not known"),
        (GRR, CRR + "budget: {total: 20, window: 5}\n", "budget.window: only budgets over"),
        (GRR, CRR.replace("./state", "./elsewhere"), "state.directory: must be that of"),
        (GRR, CRR, "there is no state in"),
    ],
)
def test_what_cannot_be_continued_is_refused(
    before: str, after: str, reason: str, tmp_path: Path
) -> None:
    old, new = written(tmp_path, before, after)
    ended = CliRunner().invoke(app, ["state", "continue", str(new), "--after", str(old)]).exception
    assert isinstance(ended, ConfigurationError)
    assert reason in str(ended)
    assert not (tmp_path / "state").exists()


def test_streams_whose_releases_are_gone_are_refused_and_counted(tmp_path: Path) -> None:
    before, after = map(PipelineFile.read, written(tmp_path, GRR, CRR))
    change = change_between(before, after)
    releases = {change.pseudonyms.of(b"alice"): array("I", [0, 2])}
    spent = change.grr.largest_charge * np.array([2, 1])
    with pytest.raises(StartRefused, match="does not hold all releases of 1 streams") as caught:
        change.told_by(releases)([b"alice", b"bob"], {"spent": spent})
    assert "bob" not in str(caught.value)
    continued = change.told_by(releases)([b"alice"], {"spent": spent[:1]})
    assert continued["spent"].tolist() == [2 * change.grr.largest_charge]


@pytest.mark.parametrize("budget", ["", BUDGET], ids=["no budget", "a larger budget"])
def test_a_total_below_what_a_stream_has_spent_is_refused(budget: str, tmp_path: Path) -> None:
    """It would be promised, and entered into the ledger, for what has already been exceeded."""
    after = CRR + "budget: {total: 3.5}\n"
    change = change_between(*map(PipelineFile.read, written(tmp_path, GRR + budget, after)))
    each = change.grr.largest_charge
    within = int(3.5 * UNITS_PER_NAT) // each

    def spent_after(number: int) -> list[int]:
        released = {change.pseudonyms.of(b"alice"): array("I", [0] * number)}
        spent: list[int] = change.told_by(released)(
            [b"alice"], {"spent": np.array([number * each])}
        )["spent"].tolist()
        return spent

    assert spent_after(within) == [within * each]
    with pytest.raises(StartRefused, match=r"budget\.total.* 1 streams have spent more"):
        spent_after(within + 1)


def test_rows_without_a_budget_go_on_under_one(tmp_path: Path) -> None:
    before, after = map(PipelineFile.read, written(tmp_path, GRR, CRR + BUDGET))
    change = change_between(before, after)
    rows = RowTable(columns_of(before.pipeline, change.was), exhaustible(change.was))
    rows.rows_of([b"alice"])
    start, ends = columns_of(after.pipeline, change.becomes), exhaustible(change.becomes)
    RowLog(tmp_path, 0, start, ends).found(rows.converted(start, ends, change.told_by({})))
    again = RowLog(tmp_path, 0, start, ends)
    again.begin()
    assert again.table.keys == [b"alice"]
