"""`fugu state upgrade`: series of both former implementations go on with the exact account."""

import tarfile
from pathlib import Path

import orjson
import pytest
import yaml
from typer.testing import CliRunner

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.pipeline.config import reading_digest
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.totals.running_total import RunningTotal
from fugu.operators.upgrades.former_laws import former_law_digest
from fugu.operators.upgrades.real_time_laws import Former, law_digest_before
from fugu.operators.upgrades.running_total_laws import mixed_law_digest
from tests.faults.recorded_states import RECORDED
from tests.kafka.pipelines import SECRET, SECRET_VARIABLE

KINDS = ("real_time", "real_time_local")


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)


def recorded(kind: str, folder: Path) -> Path:
    """Unpack the state that version 0.1.0 left; return the pipeline file."""
    with tarfile.open(RECORDED / f"{kind}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "pipeline.yaml"


def fingerprints(folder: Path) -> list[Path]:
    return sorted(folder.glob("state/*/fingerprint.json"))


def left_by(implementation: Former, layout: int, pipeline: Path) -> None:
    """Write into all fingerprints that this implementation left the state."""
    mechanism = configure(PipelineFile.read(pipeline)).mechanism
    assert isinstance(mechanism, RealTimeRelease | LocalRealTimeRelease)
    law = law_digest_before(mechanism, implementation)
    assert law is not None
    for path in fingerprints(pipeline.parent):
        changed = {"implementation": implementation, "law": law.hex(), "layout": layout}
        path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | changed))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("implementation", "layout"), [(1, 1), (2, 2)])
def test_states_of_both_former_implementations_go_on(
    kind: str, implementation: Former, layout: int, tmp_path: Path
) -> None:
    pipeline = recorded(kind, tmp_path)
    if implementation == 2:
        left_by(2, layout, pipeline)
    ended = CliRunner().invoke(app, ["state", "upgrade", str(pipeline)])
    assert ended.exception is None
    assert "all budgets stay" in " ".join(ended.output.split())
    mechanism = configure(PipelineFile.read(pipeline)).mechanism
    for path in fingerprints(tmp_path):
        now = orjson.loads(path.read_bytes())
        assert (now["implementation"], now["layout"]) == (3, 2)
        assert now["law"] == mechanism.law_digest().hex()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("implementation", "layout"), [(1, 2), (2, 1)])
def test_a_law_beside_columns_of_another_version_is_refused(
    kind: str, implementation: Former, layout: int, tmp_path: Path
) -> None:
    pipeline = recorded(kind, tmp_path)
    left_by(implementation, layout, pipeline)
    before = [path.read_bytes() for path in fingerprints(tmp_path)]
    ended = CliRunner().invoke(app, ["state", "upgrade", str(pipeline)]).exception
    assert isinstance(ended, StartRefused)
    assert f"implementation {implementation} of {kind}, with layout {layout}" in str(ended)
    assert "Nothing was changed" in str(ended)
    assert [path.read_bytes() for path in fingerprints(tmp_path)] == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_of_another_budget_is_refused(kind: str, tmp_path: Path) -> None:
    pipeline = recorded(kind, tmp_path)
    left_by(2, 2, pipeline)
    pipeline.write_text(pipeline.read_text().replace("epsilon: ", "epsilon: 1"))
    ended = CliRunner().invoke(app, ["state", "upgrade", str(pipeline)]).exception
    assert isinstance(ended, StartRefused)
    assert "What has changed: the law (epsilon," in str(ended)
    assert "how records are read" not in str(ended)
    assert "run the version that wrote it" in str(ended)


def test_rows_that_were_upgraded_twice_before_they_were_read_keep_what_they_spent(
    tmp_path: Path,
) -> None:
    """The version between changed fingerprints alone; its own start would have changed rows."""
    spent = []
    for between in (False, True):
        folder = tmp_path / str(between)
        pipeline = recorded("real_time_local", folder)
        fugu = CliRunner().invoke(app, ["state", "upgrade", str(pipeline)])
        assert fugu.exception is None
        if between:
            left_by(2, 2, pipeline)
            assert CliRunner().invoke(app, ["state", "upgrade", str(pipeline)]).exception is None
        shown = CliRunner().invoke(app, ["state", "show", str(pipeline), "--json"])
        spent.append([part["largest_spent"] for part in orjson.loads(shown.output)])
    assert spent[0] == spent[1]
    assert min(spent[0]) > 0.0


def totals_of_implementation_1(folder: Path, window: int | None) -> Path:
    """Write that the version before left the state of a pipeline of running totals."""
    pipeline = recorded("budget_distribution", folder)
    document = yaml.safe_load(pipeline.read_text())
    figures = {name: document["operator"][name] for name in ("groups", "ticks")}
    extent = {"horizon": 100} | ({} if window is None else {"window": window})
    document["operator"] = {"kind": "running_total", "epsilon": 1.0, "delta": 1e-6}
    document["operator"] |= figures | extent
    pipeline.write_text(yaml.safe_dump(document))
    file = PipelineFile.read(pipeline)
    mechanism = configure(file).mechanism
    assert isinstance(mechanism, RunningTotal)
    law = mixed_law_digest(mechanism)
    assert law is not None
    left = {
        "operator": "running_total",
        "implementation": 1,
        "law": law.hex(),
        "layout": 2,
        "reading": reading_digest(file.pipeline),
    }
    for path in fingerprints(folder):
        path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | left))
    return pipeline


def test_running_totals_that_are_mixed_go_on(tmp_path: Path) -> None:
    pipeline = totals_of_implementation_1(tmp_path, window=4)
    assert CliRunner().invoke(app, ["state", "upgrade", str(pipeline)]).exception is None
    mechanism = configure(PipelineFile.read(pipeline)).mechanism
    for path in fingerprints(tmp_path):
        now = orjson.loads(path.read_bytes())
        assert (now["implementation"], now["law"]) == (2, mechanism.law_digest().hex())


def test_running_totals_that_are_not_mixed_any_more_are_refused_with_how_to_finish(
    tmp_path: Path,
) -> None:
    pipeline = totals_of_implementation_1(tmp_path, window=None)
    before = [path.read_bytes() for path in fingerprints(tmp_path)]
    ended = CliRunner().invoke(app, ["state", "upgrade", str(pipeline)]).exception
    assert isinstance(ended, StartRefused)
    assert "until its horizon of 100 ticks is over, and then with --finish" in str(ended)
    assert "begin a pipeline with a new name" in str(ended)
    assert [path.read_bytes() for path in fingerprints(tmp_path)] == before


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("epsilon: 1.0", "epsilon: 2.0", "changed: the law (epsilon, "),
        ("horizon: 100", "horizon: 90", "changed: the law (epsilon, "),
        ("value: zone", "value: place", "changed: how records are read (source.value, "),
    ],
)
def test_running_totals_whose_file_was_edited_are_refused_with_what_differs(
    before: str, after: str, changed: str, tmp_path: Path
) -> None:
    pipeline = totals_of_implementation_1(tmp_path, window=None)
    text = pipeline.read_text()
    assert before in text
    pipeline.write_text(text.replace(before, after))
    ended = CliRunner().invoke(app, ["state", "upgrade", str(pipeline)]).exception
    assert isinstance(ended, StartRefused)
    assert changed in str(ended)
    assert "mixed" not in str(ended)
    assert str(ended).endswith("Nothing was changed.")


POLICIES = {
    "version": 1,
    "grid": {"tick": "PT1S", "zone": "UTC"},
    "query": {"kind": "sum", "cap": 5},
    "epsilon": 1.0,
    "notice": "PT10S",
    "owners": [{"name": "us", "hmac": True}],
    "collections": [{"id": "home", "applies_to": {"default": True}, "policies": []}],
}


def under_policies(folder: Path, layout: int) -> Path:
    """Write that version 0.1.0 left the state of a pipeline under policies."""
    pipeline = recorded("budget_distribution", folder)
    document = yaml.safe_load(pipeline.read_text())
    document["operator"] = {"kind": "unicorn", "policies": "policies.yaml"}
    document["source"]["value"] = "kw"
    pipeline.write_text(yaml.safe_dump(document))
    (folder / "policies.yaml").write_text(yaml.safe_dump(POLICIES))
    file = PipelineFile.read(pipeline)
    left = {
        "implementation": 1,
        "law": former_law_digest(configure(file).mechanism).hex(),
        "layout": layout,
        "reading": reading_digest(file.pipeline),
    }
    for path in fingerprints(folder):
        path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | left))
    return pipeline


@pytest.mark.parametrize("layout", [1, 2])
def test_a_state_under_policies_goes_on_and_may_get_owners_and_a_notice(
    layout: int, tmp_path: Path
) -> None:
    pipeline = under_policies(tmp_path, layout)
    ended = CliRunner().invoke(app, ["state", "upgrade", str(pipeline)])
    assert ended.exception is None
    mechanism = configure(PipelineFile.read(pipeline)).mechanism
    for path in fingerprints(tmp_path):
        now = orjson.loads(path.read_bytes())
        assert (now["implementation"], now["layout"]) == (2, 2)
        assert now["law"] == mechanism.law_digest().hex()


def test_a_state_under_other_policies_is_refused(tmp_path: Path) -> None:
    pipeline = under_policies(tmp_path, 2)
    other = POLICIES | {"query": {"kind": "sum", "cap": 6}}
    (tmp_path / "policies.yaml").write_text(yaml.safe_dump(other))
    ended = CliRunner().invoke(app, ["state", "upgrade", str(pipeline)]).exception
    assert isinstance(ended, StartRefused)
    assert "Nothing was changed" in str(ended)
