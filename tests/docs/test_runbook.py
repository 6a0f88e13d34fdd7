"""The runbook has every symptom, each with the same parts, and every command on it can be typed."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.commands.cli.fugu import app
from tests.dataflows.pipeline.pipeline_files import PIPELINE
from tests.docs.test_names import ROOT

TEXT = (ROOT / "docs" / "runbook.md").read_text()
SECTIONS = dict(part.split("\n", 1) for part in TEXT.split("\n## ")[1:])
TYPED = re.findall(r"^\$ fugu (.+)$", TEXT, re.MULTILINE)
USAGE = typer.BadParameter.__mro__[1]
INDEX = "By notice or alert"
SYMPTOMS = [
    "Releases have stopped",
    "Lag grows",
    "78 at start",
    "Something else writes to the internal log",
    "Dead letters rise",
    "A clock is wrong",
    "Budgets are spent",
    "A disk is lost",
    "A broker is lost",
    "A secret leaked",
    "A topic was extended",
]


def parse(words: list[str]) -> None:
    """Parse a command with its options, without running it."""
    command: Any = get_command(app)
    while isinstance(command, TyperGroup):
        name, *words = words
        command = command.get_command(typer.Context(command), name)
        if command is None:
            raise typer.BadParameter(name)
    command.make_context(command.name, words)


@pytest.mark.parametrize("typed", sorted(set(TYPED)))
def test_every_command_parses(typed: str, tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(PIPELINE)
    parse(shlex.split(re.sub("PIPELINE|OLD", str(path), typed)))


@pytest.mark.parametrize("typed", ["validate {} --kafkaa", "state rotate {}", "state shwo {}"])
def test_a_command_that_is_not_there_does_not_parse(typed: str, tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(PIPELINE)
    with pytest.raises(USAGE):
        parse(shlex.split(typed.format(path)))


def test_every_symptom_is_there_with_all_its_parts() -> None:
    assert list(SECTIONS) == [INDEX, *SYMPTOMS]
    for symptom in SYMPTOMS:
        parts = re.findall(r"^\*\*(You see|Ask|Do|Budgets)\b", SECTIONS[symptom], re.MULTILINE)
        assert parts == ["You see", "Ask", "Do", "Budgets"], symptom


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_of_a_dead_letter_has_a_row_that_says_what_to_do(reason: Reason) -> None:
    rows = [row.split("|") for row in SECTIONS["Dead letters rise"].splitlines() if row[:1] == "|"]
    [do] = [cells[2] for cells in rows if f"`{reason}`" in cells[1]]
    assert do.strip()


def test_a_leaked_secret_is_not_answered_with_a_rotation() -> None:
    assert "Rotation does not help after a theft" in SECTIONS["A secret leaked"]
