"""Help and refused options name what a person types, and nothing of the program."""

import pytest
from typer.testing import CliRunner

from fugu.dataflows.commands.cli.fugu import app


@pytest.mark.parametrize("command", ["validate", "peek", "evaluate", "explain", "run"])
def test_help_asks_for_the_path_of_a_pipeline_file(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"]).output
    assert "PIPELINE" in shown
    assert "<path>" in shown or "<list[path]>" in shown.lower()
    assert "PipelineFile" not in shown


def test_an_option_that_is_no_choice_is_answered_with_the_choices() -> None:
    said = CliRunner().invoke(app, ["explain", "a.yaml", "b.yaml", "--topology", "paralel"]).output
    assert "Invalid value for '--topology': 'paralel' is not one of 'parallel'" in said
    assert "Value error" not in said
