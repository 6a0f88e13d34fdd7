"""The `fugu` command. What each command does is in `dataflows/commands`, `run` and `demo`."""

import logging
import os
import sys
from importlib.metadata import version
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


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fugu {version('fugu-streams')}")
        raise typer.Exit


@app.callback()
def fugu(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Private Kafka topics in, sanitized topics out.

    Start with [bold]fugu demo[/bold]; then write a pipeline file, [bold]fugu validate[/bold] it,
    read what it promises with [bold]fugu explain[/bold], and [bold]fugu run[/bold] it.
    """


@app.command()
def demo(
    users: Annotated[int, typer.Option(min=1, help="How many users send records.")] = 2_000,
    records: Annotated[int, typer.Option(min=1_000, help="How many records in all.")] = 100_000,
) -> None:
    """Show the whole path on this machine: no Kafka, no configuration, about half a minute."""
    from dataflows.demo.demo import demo as run_demo

    run_demo(users, records)


@app.command()
def run(pipeline: PipelinePath) -> None:
    """Run a pipeline until SIGTERM or Ctrl-C; then write the state and exit with 0.

    Anything else (kill -9, power loss) is safe too: start it again and it continues, publishing
    nothing twice. The secret is read from where the pipeline file says.
    """
    from dataflows.run import run as run_pipeline

    _log_to_stderr()
    run_pipeline(PipelineFile.read(pipeline))


@app.command()
def validate(
    pipeline: PipelinePath,
    kafka: Annotated[
        bool, typer.Option("--kafka", help="Check the topics too; nothing is changed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a pipeline file; exit with 1 if the pipeline would not start."""
    from dataflows.commands.validate import validate as validate_pipeline

    if not validate_pipeline(PipelineFile.read(pipeline), kafka, as_json):
        raise typer.Exit(1)


@app.command()
def explain(pipeline: PipelinePath, as_json: AsJson = False) -> None:
    """Say what a pipeline promises, what it does not protect, and how to read its output."""
    from dataflows.commands.explain import explain as explain_pipeline

    explain_pipeline(PipelineFile.read(pipeline), as_json)


@app.command()
def peek(
    pipeline: PipelinePath,
    records: Annotated[int, typer.Option("--records", "-n", min=1, help="How many.")] = 10,
    dead_letters: Annotated[
        bool, typer.Option("--dead-letters", help="Look at refused records instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the newest records of the sanitized topic."""
    from dataflows.commands.peek import peek as peek_topic

    peek_topic(PipelineFile.read(pipeline), records, dead_letters, as_json)


def _log_to_stderr() -> None:
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    logging.getLogger("dataflows").setLevel(logging.INFO)


def main() -> None:
    """Run the command; a failure is one clear text on stderr and exit code 1.

    A failed process ends at once: nothing that a Kafka producer still holds may be delivered when
    the next process already looks for what was published.
    """
    try:
        app()
    except FuguError as error:
        typer.secho(f"fugu: {error}", err=True, fg=typer.colors.RED)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
