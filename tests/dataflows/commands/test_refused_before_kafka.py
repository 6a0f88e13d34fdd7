"""Refuse what a file says wrongly in `validate` and `run`, before Kafka is asked."""

from pathlib import Path

import pytest

from fugu.dataflows.commands.init import init
from tests.kafka.pipelines import ended

NOWHERE = ("localhost:9092", "localhost:1")


def fugu(command: str, path: Path, *options: str) -> tuple[int, str]:
    done = ended([command, path, *options])
    return done.returncode, " ".join((done.stdout + done.stderr).replace("│", " ").split())


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    path = tmp_path / "zones.yaml"
    init(path, "grr", yes=True)
    path.write_text(path.read_text().replace(*NOWHERE))
    return path


def test_what_is_right_is_not_refused(pipeline: Path) -> None:
    assert fugu("validate", pipeline)[0] == 0


def test_a_budget_that_pays_for_nothing(pipeline: Path) -> None:
    pipeline.write_text(pipeline.read_text().replace("total: 200", "total: 0.5"))
    for command, code in (("validate", 1), ("run", 78)):
        exited, said = fugu(command, pipeline)
        assert exited == code, said
        assert "is less than one release costs (1 nat)" in said


def test_a_secret_of_zeros(pipeline: Path) -> None:
    pipeline.with_name("zones.secret").write_text("0" * 64)
    for command, code in (("validate", 1), ("run", 78)):
        exited, said = fugu(command, pipeline)
        assert exited == code, said
        assert "holds zeros only: everybody can repeat what is made with it" in said


def test_a_refused_start_leaves_nothing_behind(pipeline: Path) -> None:
    pipeline.write_text(pipeline.read_text().replace("total: 200", "total: 0.5"))
    before = sorted(path.name for path in pipeline.parent.iterdir())
    fugu("run", pipeline)
    assert sorted(path.name for path in pipeline.parent.iterdir()) == before


def test_a_path_that_no_record_of_a_sample_holds(pipeline: Path, tmp_path: Path) -> None:
    sample = tmp_path / "sample.jsonl"
    sample.write_text('{"key":"ann","data":{"zone":"rest","note":"canary"}}\n' * 3)
    pipeline.write_text(pipeline.read_text().replace("value: value", "value: data.zone"))
    told = ("--sample", str(sample))
    exited, said = fugu("validate", pipeline, *told)
    assert exited == 0, said
    pipeline.write_text(pipeline.read_text().replace("value: data.zone", "value: data.zones"))
    exited, said = fugu("validate", pipeline, *told)
    assert exited == 1, said
    assert "no line can be used: field_missing (data.zones): 3, first in line 1" in said
    assert "canary" not in said
