"""`fugu migrate`: what cannot go on soundly is refused before anything is touched."""

from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.flows.carrying_over import carried_over
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import columns_of
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE

GRR = PIPELINE.replace("kind: crr", "kind: grr").replace("  model: model.json\n", "")
BUDGET = "budget: {total: 20}\n"
TIMED = PIPELINE.replace(
    "  model: model.json\n", "  model: model.json\n  step: {length: 1m, longest_gap: 9}\n"
)


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUGU_TEST_SECRET", "ab" * 32)
    monkeypatch.setenv("FUGU_OTHER_SECRET", "cd" * 32)


def written(directory: Path, before: str, after: str) -> tuple[Path, Path]:
    (directory / "model.json").write_bytes(orjson.dumps(MODEL | {"smoothing": 0.01}))
    paths = directory / "before.yaml", directory / "after.yaml"
    for path, text in zip(paths, (before, after), strict=True):
        path.write_text(text)
    return paths


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (GRR + BUDGET, PIPELINE, "budget: a budget stays"),
        (GRR + BUDGET, GRR + "budget: {total: 20, window: 5}\n", "a window promises less"),
        (GRR, TIMED, "operator.step: when a release was made is not known"),
        (GRR, GRR.replace("./state", "./elsewhere"), "state.directory: must be that of"),
        (GRR, GRR.replace("directory: ./state", "store: kafka"), "fugu state move OLD NEW moves"),
        (GRR, GRR.replace("FUGU_TEST_SECRET", "FUGU_OTHER_SECRET"), "fugu state rotate changes it"),
        ("version: 2\n" + GRR, GRR, "version: must be 2 or more"),
        (GRR + "ledger: {topic: promises}\n", GRR, "ledger.topic: must stay promises"),
        (PIPELINE, PIPELINE.replace("value: zone", "value: place"), "source.value"),
        (GRR, GRR.replace("value: zone\n", "value: zone\n  key: {field: user}\n"), "source.key"),
        (GRR, GRR, "there is no state in"),
    ],
)
def test_what_cannot_go_on_is_refused(before: str, after: str, reason: str, tmp_path: Path) -> None:
    old, new = written(tmp_path, before, after)
    ended = CliRunner().invoke(app, ["migrate", str(old), str(new)]).exception
    assert isinstance(ended, ConfigurationError), ended
    assert reason in str(ended)
    assert not (tmp_path / "state").exists()


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    after = PIPELINE.replace("./state", "./elsewhere").replace("FUGU_TEST", "FUGU_OTHER")
    files = map(PipelineFile.read, written(tmp_path, GRR + BUDGET, after))
    with pytest.raises(ConfigurationError) as caught:
        carried_over(*files)
    for problem in ("state.directory", "secret", "budget"):
        assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("before", "after", "form"),
    [
        (GRR, GRR.replace("value: zone", "value: place"), "spent"),
        (GRR, PIPELINE, "replayed"),
        (PIPELINE, GRR, "spent"),
        (PIPELINE, PIPELINE + BUDGET, "kept"),
    ],
)
def test_what_can_go_on(before: str, after: str, form: str, tmp_path: Path) -> None:
    files = map(PipelineFile.read, written(tmp_path, before, after))
    assert carried_over(*files).carry.form == form


@pytest.mark.parametrize(("remember", "kept"), [(2, [8, 9]), (5, [0, 0, 7, 8, 9])])
def test_events_that_were_seen_stay_known_where_more_or_fewer_are_remembered(
    remember: int, kept: list[int], tmp_path: Path
) -> None:
    """A record that is sent again would otherwise be released a second time."""
    seen = GRR.replace("  value: zone\n", "  value: zone\n  dedupe: {field: id, remember: 3}\n")
    after = seen.replace("remember: 3", f"remember: {remember}")
    change = carried_over(*map(PipelineFile.read, written(tmp_path, seen, after)))
    rows = columns_of(change.before.pipeline, change.was)(1)
    rows["recent_events"][:] = [7, 8, 9]
    assert change.rows(rows)["recent_events"].tolist() == [kept]


def test_files_that_would_be_written_down_otherwise_have_another_digest(tmp_path: Path) -> None:
    one, other = (
        carried_over(*map(PipelineFile.read, written(tmp_path, GRR, after))).digest
        for after in (GRR, GRR.replace("name: heart-zones", "name: zones"))
    )
    assert one != other
