"""Help names what a person types, and no class of the program."""

import pytest
from typer.testing import CliRunner

from fugu.dataflows.commands.cli.fugu import app


@pytest.mark.parametrize("command", ["validate", "peek", "evaluate", "ledger", "run"])
def test_help_asks_for_the_path_of_a_pipeline_file(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"]).output
    assert "PIPELINE" in shown
    assert "<path>" in shown
    assert "PipelineFile" not in shown
