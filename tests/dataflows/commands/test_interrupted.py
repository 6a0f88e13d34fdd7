"""Ctrl-C ends a command with one line and 130, wherever it is, and is no verdict."""

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE

WITH_CTRL_C = """
import os, signal, sys
from importlib import import_module
signal.signal(signal.SIGINT, signal.default_int_handler)
place, function, *sys.argv[1:] = sys.argv[1:]
module, real = import_module(place), getattr(import_module(place), function)
def meanwhile(*arguments, **options):
    os.kill(os.getpid(), signal.SIGINT)
    return real(*arguments, **options)
setattr(module, function, meanwhile)
from fugu.dataflows.commands.cli.fugu import main
main()
"""
"""Runs a command in which a function presses Ctrl-C."""
ATTACKS = ("fugu.dataflows.offline.auditing.attacks", "carried_out")
SAMPLES = ("fugu.dataflows.offline.evaluation.families.by_section", "family_of")


@pytest.mark.parametrize(
    ("place", "command"),
    [
        (ATTACKS, ["audit", "pipeline.yaml"]),
        (ATTACKS, ["audit", "pipeline.yaml", "--json"]),
        (SAMPLES, ["evaluate", "pipeline.yaml", "--sample", "sample.jsonl"]),
    ],
)
def test_ctrl_c_ends_with_one_line(
    place: tuple[str, str], command: list[str], tmp_path: Path
) -> None:
    (tmp_path / "model.json").write_bytes(orjson.dumps(MODEL))
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    (tmp_path / "sample.jsonl").write_text('{"key": "user-1", "zone": "rest"}\n')
    done = subprocess.run(
        [sys.executable, "-P", "-c", WITH_CTRL_C, *place, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "fugu: ended by Ctrl-C before it was done\n"
