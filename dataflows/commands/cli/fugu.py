"""The `fugu` command. What each command does is in `dataflows/commands`, `run` and `demo`."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer

from fugu.dataflows.base import logs
from fugu.dataflows.base.errors import ConfigurationError, FuguError, exit_code, unexpected
from fugu.dataflows.base.logs import LogFormat
from fugu.dataflows.commands.cli import judging, model, policy, state
from fugu.dataflows.commands.cli.arguments import AsJson, PipelinePath, PipelinePaths
from fugu.dataflows.pipeline.pipeline_file import PipelineFile

app = typer.Typer(
    name="fugu",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


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
    from fugu.dataflows.offline.demo.demo import demo as run_demo

    run_demo(users, records)


@app.command()
def run(
    pipeline: PipelinePath,
    shard: Annotated[
        list[str] | None,
        typer.Option(help="Run this shard only, such as 0/4; may be given several times."),
    ] = None,
    finish: Annotated[
        bool,
        typer.Option("--finish", help="Read nothing more; publish what is held back, and stop."),
    ] = False,
    log_format: Annotated[
        LogFormat | None,
        typer.Option(help="How to log to stderr; otherwise as the pipeline file says."),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Deal the shards out to N processes, at most state.shards, and keep them running.",
        ),
    ] = None,
    supervised_as: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Run a pipeline until SIGTERM or Ctrl-C; then write the state and exit with 0.

    Anything else (kill -9, power loss) is safe too: start it again and it continues, publishing
    nothing twice. The secret is read from where the pipeline file says.

    One process uses one processor. With [bold]--processes N[/bold] shard i runs in process i mod N.
    A process that dies is started again, after half a second at first and 30 s at most, while the
    others run on; metrics and health are those of all. Another N may be chosen at any start, but
    state.shards is fixed when a pipeline is created: choose it as large as N may ever become.

    Exit code 78 says that a restart would not help (configuration, secret, state), 1 that it may.
    """
    logs.configure(log_format or "plain", supervised_as)
    with _restarts_told_apart():
        file = PipelineFile.read(pipeline)
        logs.configure(log_format or file.pipeline.logs, supervised_as)
        if processes is not None:
            _supervise(file, processes, log_format, alone=not shard and not finish)
        from fugu.dataflows.run.run import run as run_pipeline
        from fugu.dataflows.run.run import shard_numbers

        chosen = shard_numbers(shard or [], file.pipeline.state.shards)
        run_pipeline(file, chosen, finish=finish, supervised=supervised_as is not None)


def _supervise(
    file: PipelineFile, processes: int, log_format: LogFormat | None, *, alone: bool
) -> NoReturn:
    from fugu.dataflows.run.supervise import supervise

    if not alone:
        raise ConfigurationError(
            "--processes runs all shards, and goes on until it is stopped: leave --shard and "
            "--finish out. To finish streams, stop the pipeline and run it with --finish, in one "
            "process"
        )
    raise typer.Exit(supervise(file, processes, log_format))


@contextmanager
def _restarts_told_apart() -> Iterator[None]:
    try:
        yield
    except FuguError as error:
        logs.report(str(error))
        _end_at_once(exit_code(error))


@app.command()
def validate(
    pipeline: PipelinePath,
    kafka: Annotated[
        bool, typer.Option("--kafka", help="Check the topics too; nothing is changed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a pipeline file; exit with 1 if the pipeline would not start."""
    from fugu.dataflows.commands.validate import validate as validate_pipeline

    if not validate_pipeline(PipelineFile.read(pipeline), kafka, as_json):
        raise typer.Exit(1)


@app.command()
def kinds(
    as_json: AsJson = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table of the README.")
    ] = False,
) -> None:
    """Show every kind of operator: what it releases, and what is protected."""
    from fugu.dataflows.commands.kinds import show_kinds

    show_kinds(as_json=as_json, as_markdown=as_markdown)


@app.command()
def explain(pipelines: PipelinePaths, as_json: AsJson = False) -> None:
    """Say what a pipeline promises, what it does not protect, and how to read its output.

    With several files, also what those over one source add up to.
    Exit with 1 if that is more than source.budget allows.
    """
    from fugu.dataflows.commands.explain import explain as explain_pipelines

    explain_pipelines([PipelineFile.read(pipeline) for pipeline in pipelines], as_json)


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
    from fugu.dataflows.commands.peek import peek as peek_topic

    peek_topic(PipelineFile.read(pipeline), records, dead_letters, as_json)


@app.command()
def ledger(
    pipeline: PipelinePath,
    streams: Annotated[
        int, typer.Option("--streams", "-n", min=0, help="How many streams to show.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what pipelines promise about a source, and the streams nearest to exhaustion."""
    from fugu.dataflows.commands.ledger import ledger as show_ledger

    show_ledger(PipelineFile.read(pipeline), streams, as_json)


app.add_typer(judging.app)
app.add_typer(state.app, name="state")
app.add_typer(model.app, name="model")
app.add_typer(policy.app, name="policy")


def main() -> None:
    """Run the command; a failure is one clear text on stderr and exit code 1.

    A failed process ends at once: nothing that a Kafka producer still holds may be delivered when
    the next process already looks for what was published.
    """
    try:
        app()
    except FuguError as error:
        logs.report(str(error))
    except Exception as error:
        logs.report(unexpected(error))
    else:
        return
    _end_at_once(1)


def _end_at_once(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
