"""Declare the `fugu` command with `demo` and `run`; the others are loaded by name."""

import faulthandler
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from fugu.dataflows.base import logs
from fugu.dataflows.base.errors import CannotBeAudited, FuguError, exit_code, unexpected
from fugu.dataflows.base.logs import LogFormat
from fugu.dataflows.commands.cli.interrupted import interruptible
from fugu.dataflows.commands.cli.loading import LoadedCommands

app = typer.Typer(
    name="fugu",
    cls=LoadedCommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
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

    Start with `fugu demo`; then write a pipeline file, `fugu validate` it,
    read what it promises with `fugu explain`, and `fugu run` it.
    """


@app.command()
@interruptible
def demo(
    users: Annotated[int, typer.Option(min=1, help="How many users send records.")] = 2_000,
    records: Annotated[int, typer.Option(min=1_000, help="How many records in all.")] = 100_000,
    to: Annotated[
        Path | None,
        typer.Option("--to", file_okay=False, help="Keep the sanitized topic as Parquet files."),
    ] = None,
    keep_open: Annotated[
        bool,
        typer.Option("--keep-open", help="Keep the broker open until Ctrl-C, to read the topic."),
    ] = False,
) -> None:
    """Show the whole path on this machine: no Kafka, no configuration, about half a minute."""
    from fugu.dataflows.offline.demo.demo import demo as run_demo

    run_demo(users, records, to, keep_open=keep_open)


@app.command()
def run(
    pipeline: Annotated[
        Path,
        typer.Argument(metavar="PIPELINE", help="The pipeline file (YAML), or a folder of them."),
    ],
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
    as_read: Annotated[Path | None, typer.Option(hidden=True)] = None,
) -> None:
    """Run a pipeline until SIGTERM or Ctrl-C; then write the state and exit with 0.

    Anything else (kill -9, power loss) is safe too: start it again and it continues, publishing
    nothing twice. The secret is read from where the pipeline file says.

    One process uses one processor. With `--processes N` shard i runs in process i mod N.
    A process that dies is started again, after half a second at first and 30 s at most, while the
    others run on; metrics and health are those of all. Another N may be chosen at any start, but
    state.shards is fixed when a pipeline is created: choose it as large as N may ever become.

    With state.store: kafka this is one copy of a consumer group: start as many as there are
    partitions, anywhere. `--processes N` starts N copies here; there is no `--shard`.

    A folder is run whole: each file (*.yaml) in a process of its own. One that is refused or dies
    harms no other. SIGHUP reads the folder again: new files begin, changed ones go on with their
    new content after a graceful stop, and those that are gone stop.

    Exit code 78 says that a restart would not help (configuration, secret, state), 1 that it may.
    """
    logs.configure(log_format or "plain", supervised_as)
    from fugu.dataflows.pipeline.config import PipelineFile
    from fugu.dataflows.run.dealing import (
        refuse_for_a_folder,
        require_all_shards,
        shard_numbers,
    )

    with _restarts_told_apart():
        if pipeline.is_dir():
            refuse_for_a_folder(shard=bool(shard), finish=finish, processes=processes is not None)
            from fugu.dataflows.run.folder import run_folder

            raise typer.Exit(run_folder(pipeline, log_format))
        file = PipelineFile.read(pipeline, as_read)
        logs.configure(log_format or file.pipeline.logs, supervised_as)
        chosen = shard_numbers(shard or [], file.pipeline)
        if processes is not None:
            require_all_shards(named=bool(shard), finishing=finish)
            from fugu.dataflows.run.supervise import supervise

            raise typer.Exit(supervise(file, processes, log_format))
        if file.pipeline.state.in_kafka:
            from fugu.dataflows.run.copying import run_copy

            run_copy(file, finish=finish, supervised_as=supervised_as)
            return
        from fugu.dataflows.run.run import run as run_pipeline

        run_pipeline(file, chosen, finish=finish, supervised=supervised_as is not None)


@contextmanager
def _restarts_told_apart() -> Iterator[None]:
    try:
        yield
    except FuguError as error:
        logs.report(str(error))
        _end_at_once(exit_code(error))


def main() -> None:
    """Run the command; a failure is one clear text on stderr and exit code 1 (audit: 2 or 3).
    Ctrl-C ends with 130.

    A failed process ends at once: nothing that a Kafka producer still holds may be delivered when
    the next process already looks for what was published. A crash of native code leaves the stacks
    of all threads, which name lines and no values.
    """
    faulthandler.enable(os.dup(2))
    try:
        app()
    except FuguError as error:
        logs.report(str(error))
        _end_at_once(_failed(error))
    except Exception as error:
        logs.report(unexpected(error))
        _end_at_once(_failed(error))


def _failed(error: Exception) -> int:
    """Return 1; for `fugu audit`, where that says that a claim is broken, 2 or 3: no verdict."""
    if isinstance(error, CannotBeAudited):
        return 3
    return 2 if sys.argv[1:2] == ["audit"] else 1


def _end_at_once(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
