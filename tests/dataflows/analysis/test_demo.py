"""The lines of the README, on the files that the demo keeps."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.dataflows.kinds.example_files import ROOT

_TOPIC = '"kafka://localhost:9092/vitals.sanitized"'


@pytest.mark.slow
def test_the_lines_of_the_readme_read_what_the_demo_keeps(tmp_path: Path) -> None:
    kept = tmp_path / "demo"
    options = ("--users", "60", "--records", "1000", "--to", kept)
    subprocess.run(
        [sys.executable, "-m", "fugu", "demo", *options], check=True, stdout=subprocess.DEVNULL
    )
    section = (ROOT / "README.md").read_text().split("## Reading what comes out")[1]
    program = section.split("```py\n")[1].split("```")[0]
    assert _TOPIC in program
    done = subprocess.run(
        [sys.executable, "-c", program.replace(_TOPIC, repr(str(kept)))],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "Sequence Information Privacy with epsilon 1 nats per release" in done.stdout
    assert "shares of zone, heart-zones (crr)" in done.stdout
    assert "60     1000" in done.stdout
