"""The `fugu` command. Each command is one file under `dataflows/commands`."""

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from dataflows.config import PipelineFile
from dataflows.errors import FuguError

app = typer.Typer(
    name="fugu",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

PipelinePath = Annotated[Path, typer.Argument(metavar="PIPELINE", help="The pipeline file (YAML).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a machine.")]


@app.callback()
def fugu() -> None:
    """Private Kafka topics in, sanitized topics out."""


@app.command()
def run(pipeline: PipelinePath) -> None:
    """Run a pipeline until SIGTERM or Ctrl-C; then write the state and exit with 0.

    Anything else (kill -9, power loss) is safe too: start it again and it continues, publishing
    nothing twice. The secret is read from where the pipeline file says.
    """
    from dataflows.run import run as run_pipeline

    _log_to_stderr()
    run_pipeline(PipelineFile.read(pipeline))


def _log_to_stderr() -> None:
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    logging.getLogger("dataflows").setLevel(logging.INFO)


def main() -> None:
    """Run the command; a failure is one clear text on stderr and exit code 1."""
    try:
        app()
    except FuguError as error:
        typer.secho(f"fugu: {error}", err=True, fg=typer.colors.RED)
        sys.exit(1)
