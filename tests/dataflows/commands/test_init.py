"""`fugu init` writes a pipeline file that validates, whatever its kind, and overwrites nothing."""

import os
import pty
import stat
import sys
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import pytest
from typer.testing import CliRunner, Result

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.kinds import KINDS
from fugu.dataflows.pipeline.config import PipelineFile


def fugu(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_of_every_kind_validates(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "zones.yaml"
    assert fugu("init", path, "--kind", kind, "--yes").exit_code == 0
    result = fugu("validate", path)
    assert result.exit_code == 0, result.output
    pipeline = PipelineFile.read(path).pipeline
    assert pipeline.operator.kind == kind
    assert pipeline == PipelineFile.read(path).pipeline, "fugu state move compares two files"


@pytest.mark.parametrize("kind", ["crr", "anonymize"])
def test_every_key_of_it_says_what_it_is(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "zones.yaml"
    fugu("init", path, "--kind", kind, "--yes")
    assert ("  timestamp: kafka  " in path.read_text()) is (kind == "anonymize")
    for line in path.read_text().splitlines()[1:]:
        assert not line or line.endswith(":") or line.endswith("."), line
        assert not line or line.endswith(":") or "  # " in line, line


def test_what_is_given_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "my zones.yaml"
    fugu("init", path, "--kind", "grr", "--source", "vitals.raw", "--field", "on", "--yes")
    pipeline = PipelineFile.read(path).pipeline
    assert (pipeline.name, pipeline.source.topic, pipeline.source.value) == (
        "my-zones",
        "vitals.raw",
        "on",
    )
    assert pipeline.sink.topic == "vitals.raw.sanitized"


def test_the_secret_is_new_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    for name in ("one", "two"):
        fugu("init", tmp_path / f"{name}.yaml", "--kind", "grr", "--yes")
    one, two = tmp_path / "one.secret", tmp_path / "two.secret"
    assert len(bytes.fromhex(one.read_text().strip())) == 32
    assert one.read_text() != two.read_text()
    assert stat.S_IMODE(one.stat().st_mode) == 0o600


@pytest.mark.parametrize("there", ["zones.yaml", "zones.secret", "zones.model.json"])
def test_nothing_is_overwritten(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("mine")
    before = content(tmp_path)
    result = fugu("init", tmp_path / "zones.yaml", "--kind", "crr", "--yes")
    assert isinstance(result.exception, ConfigurationError)
    assert f"{there} is there already" in str(result.exception)
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--kind", "ccr", "--yes"], "--kind: there is no 'ccr'; did you mean crr"),
        (["--kind", "crr", "--source", "a b", "--yes"], "--source: use letters"),
        (["--kind", "crr"], "no terminal to ask on; write --source events, or --yes"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: list[str], says: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fugu", "init", str(tmp_path / "zones.yaml"), *options]
    with Popen(command, stdin=DEVNULL, stderr=PIPE, text=True) as process:
        said = process.communicate()[1]
    assert process.returncode == 1
    assert says in said
    assert content(tmp_path) == {}


def test_it_asks_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "fugu", "init", str(tmp_path / "zones.yaml")]
    with Popen(command, stdin=theirs, stdout=PIPE, stderr=PIPE, text=True) as process:
        os.write(ours, b"grr\nvitals.raw\n\n")
        said, wrong = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0, said + wrong
    pipeline = PipelineFile.read(tmp_path / "zones.yaml").pipeline
    assert pipeline.operator.kind == "grr"
    assert (pipeline.source.topic, pipeline.source.value) == ("vitals.raw", "value")
