"""`fugu taxonomy show` marks what is released so that a file or a terminal without bold has it."""

from pathlib import Path

from typer.testing import CliRunner

from fugu.dataflows.commands.cli.fugu import app

TAXONOMY = "Disease: {Infection: [Dengue, Cholera], Lung: [Asthma]}\n"


def test_what_a_height_releases_is_marked_by_a_sign(tmp_path: Path) -> None:
    path = tmp_path / "diseases.yaml"
    path.write_text(TAXONOMY)
    shown = CliRunner().invoke(app, ["taxonomy", "show", str(path), "--height", "2"])
    assert shown.exit_code == 0
    lines = [line for line in shown.stdout.splitlines() if "(" in line and ")" in line]
    marked = {line.strip("│├└─ ").split(" ")[0] for line in lines if line.endswith("*")}
    assert marked == {"Disease", "Infection", "Lung"}
    assert "6 values on 3 levels. At privacy_height 2, 3 of them are released" in shown.stdout
