"""Arguments that several commands have in common."""

from pathlib import Path
from typing import Annotated

import typer

PipelinePath = Annotated[Path, typer.Argument(metavar="PIPELINE", help="The pipeline file (YAML).")]
PipelinePaths = Annotated[
    list[Path], typer.Argument(metavar="PIPELINE", help="Pipeline files (YAML).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a machine.")]
Seed = Annotated[int, typer.Option(min=0, max=2**62, help="Another seed, other runs.")]
Plot = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Draw the result too (.png or .svg).")
]
