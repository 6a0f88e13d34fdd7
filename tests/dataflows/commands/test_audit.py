"""`fugu audit`: what it prints, what it draws, and its exit status."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.base.install import install
from fugu.dataflows.commands.cli import fugu as cli
from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.offline.auditing.report import SURVIVED
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE

UNSOUND = ("kind: crr", "kind: paper_crr\n  accept_unsound: true")
BUDGET = ("sink:", "budget: {total: 2}\nsink:")
LAPLACE = """\
name: power
source: {topic: power.raw, value: watts}
operator: {kind: laplace, lower: 0, upper: 100, epsilon: 1.0}
sink: {topic: power.sanitized}
kafka: {bootstrap: "localhost:9092"}
state: {directory: ./state}
secret: {env: FUGU_TEST_SECRET}
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    (tmp_path / "model.json").write_bytes(orjson.dumps(MODEL))
    path = tmp_path / "pipeline.yaml"
    path.write_text(PIPELINE)
    return path


def change(pipeline: Path, old: str, new: str) -> None:
    text = pipeline.read_text()
    assert text.count(old) == 1, f"{old!r} must occur exactly once"
    pipeline.write_text(text.replace(old, new))


def audited(pipeline: Path, *options: str) -> Result:
    """With few runs; the environment holds no secret."""
    return CliRunner().invoke(app, ["audit", str(pipeline), "--runs", "2000", *options])


def document(result: Result) -> Any:
    return orjson.loads(result.stdout)


def test_an_honest_pipeline_survives(pipeline: Path) -> None:
    result = audited(pipeline, "--steps", "2")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == SURVIVED
    text = " ".join(result.stdout.split())
    for said in ("heart-zones", "expected accuracy", "the ledger of every path covers", "99.9 %"):
        assert said in text
    for row in ("sip: release 1", "sip: releases 1 to 2", "ldp: position 2 of 2", "whole streams"):
        assert row in text


def test_the_papers_mechanism_breaks_its_claim(pipeline: Path) -> None:
    change(pipeline, *UNSOUND)
    result = audited(pipeline, "--steps", "1", "--runs", "20000")
    assert result.exit_code == 1
    last = result.stdout.splitlines()[-1]
    assert last.startswith("CLAIM BROKEN: sip, the truth, 6 releases: exactly ")
    assert "1 of 1 attacks proved more than is claimed, such as sip, release 1: at least " in last
    assert "tested is the epsilon its paper claims" in result.stdout


def test_a_machine_reads_json_and_nothing_else(pipeline: Path) -> None:
    change(pipeline, *BUDGET)
    read = document(audited(pipeline, "--steps", "3", "--json", "--seed", "5"))
    assert read["verdict"] == SURVIVED
    assert read["status"] == "survived"
    assert read["broken"] == []
    assert read["effort"] == {"runs": 2000, "confidence": 99.9, "seed": 5}
    assert {case["extent"] for case in read["worst_cases"]} == {
        "1 release",
        *(f"{releases} releases" for releases in range(2, 7)),
    }
    assert all(check["passed"] for check in read["checks"])
    assert len(read["checks"]) == 3
    assert len(read["not_reached"]) == 2
    assert [attack["name"] for attack in read["attacks"]] == [
        "release 1",
        "releases 1 to 3",
        "position 1 of 3",
        "position 2 of 3",
        "position 3 of 3",
        "whole streams",
    ]
    for attack in read["attacks"]:
        assert 0.0 <= attack["bound"] <= attack["exact"] + 1e-9 <= attack["claim"] + 1e-6
        assert attack["at_least"] <= attack["shown"]
        assert attack["elsewhere"] <= attack["at_most"]
    assert read["attacks"][-1]["claim"] == pytest.approx(4.0)


def test_numbers_are_attacked_too(pipeline: Path) -> None:
    pipeline.write_text(LAPLACE)
    read = document(audited(pipeline, "--steps", "2", "--json"))
    assert read["worst_cases"] == []
    told = [check["about"] for check in read["checks"]]
    for number in ("least", "middle", "largest"):
        assert f"the noise on the {number} number follows the declared law" in told
    assert all(check["passed"] for check in read["checks"])
    assert len(read["not_reached"]) == 3
    assert [attack["exact"] for attack in read["attacks"]] == [None, None, None]
    assert all(0.2 < attack["bound"] <= attack["claim"] for attack in read["attacks"])


def test_the_same_seed_finds_the_same(pipeline: Path) -> None:
    first, again, other = (
        audited(pipeline, "--steps", "1", "--json", "--seed", seed).stdout for seed in "112"
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_a_picture_is_drawn(name: str, start: bytes, pipeline: Path, tmp_path: Path) -> None:
    picture = tmp_path / name
    result = audited(pipeline, "--steps", "2", "--plot", str(picture))
    assert result.exit_code == 0
    content = picture.read_bytes()
    assert content.startswith(start)
    assert len(content) > 5_000


def test_a_picture_of_another_kind_or_place_is_refused_before_anything_runs(
    pipeline: Path, tmp_path: Path
) -> None:
    for name, says in [
        ("a.pdf", "must end in .png or .svg"),
        ("no/a.png", "there is no directory"),
    ]:
        error = audited(pipeline, "--plot", str(tmp_path / name)).exception
        assert isinstance(error, FuguError)
        assert says in str(error)


@pytest.mark.parametrize(
    ("package", "options"), [("scipy", []), ("matplotlib", ["--plot", "a.png"])]
)
def test_a_missing_package_is_named_with_its_extra(
    package: str, options: list[str], pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    error = audited(pipeline, *options).exception
    assert isinstance(error, FuguError)
    assert str(error) == f"fugu audit needs {package}: {install('audit')}"


@pytest.mark.parametrize("options", [["--runs", "10"], ["--steps", "0"], ["--confidence", "100"]])
def test_an_effort_that_cannot_prove_anything_is_refused(
    options: list[str], pipeline: Path
) -> None:
    assert CliRunner().invoke(app, ["audit", str(pipeline), *options]).exit_code == 2


def test_a_pipeline_that_cannot_be_read_is_no_broken_claim(pipeline: Path) -> None:
    """Exit code 1 would say that a claim was seen to break."""
    (pipeline.parent / "model.json").unlink()
    command = [sys.executable, "-m", "fugu", "audit", str(pipeline)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"model.json" in done.stderr


def test_a_package_that_is_missing_is_no_unusable_file(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(cli, "_end_at_once", ended.append)
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setattr(sys, "argv", ["fugu", "audit", str(pipeline), "--json"])
    cli.main()
    assert ended == [3]
    told = capsys.readouterr()
    assert orjson.loads(told.out) == {
        "pipeline": "heart-zones",
        "status": "cannot be audited",
        "reason": f"fugu audit needs scipy: {install('audit')}",
    }
    assert "fugu audit needs scipy" in told.err


def test_numbers_are_followed_to_the_end_of_their_budget(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(LAPLACE + "budget: {total: 3}\n")
    result = audited(path, "--steps", "2")
    assert result.exit_code == 0, result.output
    assert "near the end of the" in result.stdout
