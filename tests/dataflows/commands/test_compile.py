"""`fugu compile` makes ready what can run here, and names what cannot."""

import sys
from pathlib import Path

import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands import compile as compiling
from fugu.dataflows.commands.init import write_example
from fugu.dataflows.kinds import KINDS

KIND_WITH_SCIPY = "unicorn_plan"


@pytest.fixture
def without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "scipy"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "scipy", None)


@pytest.mark.slow
@pytest.mark.usefixtures("without_scipy")
def test_a_kind_whose_package_is_not_installed_is_left_out_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    two = {name: KINDS[name] for name in (KIND_WITH_SCIPY, "grr")}
    monkeypatch.setattr(compiling, "KINDS", two)
    compiling.compile_code(as_json=True)
    said = orjson.loads(capsys.readouterr().out)
    assert [one["pipeline"] for one in said["compiled"]] == ["grr"]
    [left_out] = said["left_out"]
    assert left_out.startswith(f"{KIND_WITH_SCIPY} is left out: ")
    assert "needs SciPy" in left_out


@pytest.mark.usefixtures("without_scipy")
def test_a_pipeline_that_is_named_is_not_left_out(tmp_path: Path) -> None:
    path = write_example(tmp_path, KIND_WITH_SCIPY)
    with pytest.raises(ConfigurationError, match="needs SciPy"):
        compiling.compile_code([path])
