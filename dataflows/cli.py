"""The `fugu` command. What each command does is in `dataflows/commands`, `run` and `demo`."""

import os
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from dataflows import logs
from dataflows.errors import FuguError, unexpected
from dataflows.logs import LogFormat
from dataflows.pipeline_file import PipelineFile

app = typer.Typer(
    name="fugu",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

PipelinePath = Annotated[Path, typer.Argument(metavar="PIPELINE", help="The pipeline file (YAML).")]
PipelinePaths = Annotated[
    list[Path], typer.Argument(metavar="PIPELINE", help="Pipeline files (YAML).")
]
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
def run(
    pipeline: PipelinePath,
    shard: Annotated[
        list[str] | None,
        typer.Option(help="Run this shard only, such as 0/4; may be given several times."),
    ] = None,
    log_format: Annotated[
        LogFormat | None,
        typer.Option(help="How to log to stderr; otherwise as the pipeline file says."),
    ] = None,
) -> None:
    """Run a pipeline until SIGTERM or Ctrl-C; then write the state and exit with 0.

    Anything else (kill -9, power loss) is safe too: start it again and it continues, publishing
    nothing twice. The secret is read from where the pipeline file says.
    """
    from dataflows.run import run as run_pipeline
    from dataflows.run import shard_numbers

    logs.configure(log_format or "plain")
    file = PipelineFile.read(pipeline)
    logs.configure(log_format or file.pipeline.logs)
    run_pipeline(file, shard_numbers(shard or [], file.pipeline.state.shards))


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
def explain(pipelines: PipelinePaths, as_json: AsJson = False) -> None:
    """Say what a pipeline promises, what it does not protect, and how to read its output.

    With several files, also what those over one source add up to.
    Exit with 1 if that is more than source.budget allows.
    """
    from dataflows.commands.explain import explain as explain_pipelines

    explain_pipelines([PipelineFile.read(pipeline) for pipeline in pipelines], as_json)


@app.command()
def audit(
    pipeline: PipelinePath,
    runs: Annotated[int, typer.Option(min=1_000, help="Runs of each attacked stream.")] = 50_000,
    steps: Annotated[int, typer.Option(min=1, max=64, help="Releases of each run.")] = 4,
    confidence: Annotated[
        float, typer.Option(min=50.0, max=99.999999, help="Of all bounds together, in per cent.")
    ] = 99.9,
    seed: Annotated[int, typer.Option(min=0, max=2**62, help="Another seed, other runs.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the result too (.png or .svg).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Attack the configured operator; exit with 1 if it leaks more than it claims.

    Prints exact worst cases, where the alphabet is small enough to follow all releases.
    Then runs the real operator many times on streams that should be hard to tell apart.
    What can be told apart is a lower bound of what leaks. The pipeline's secret is not used.
    """
    from dataflows.commands.audit import Options
    from dataflows.commands.audit import audit as audit_pipeline

    options = Options(runs, steps, confidence, seed, plot, as_json)
    if not audit_pipeline(PipelineFile.read(pipeline), options):
        raise typer.Exit(1)


@app.command()
def evaluate(
    pipeline: PipelinePath,
    sample: Annotated[
        Path,
        typer.Option(metavar="FILE", help="One JSON object per line: a record and its key."),
    ],
    key_field: Annotated[str, typer.Option(help="The field that holds the key.")] = "key",
    epsilons: Annotated[
        str | None,
        typer.Option(
            metavar="0.5,1,2", help="What to try; otherwise half, once and twice the configured."
        ),
    ] = None,
    rivals: Annotated[
        str | None,
        typer.Option(metavar="KIND,...", help="Operators to compare with; otherwise all that fit."),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, max=1_000, help="How often, each under another secret.")
    ] = 5,
    seed: Annotated[int, typer.Option(min=0, max=2**62, help="Another seed, other runs.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the result too (.png or .svg).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure, offline, how useful releases of a sample are, for several epsilons and operators.

    Each line of the sample is a record with its key, such as {"key": "user-1", "zone": "rest"}.
    Records go through the very operator of fugu run, under secrets of their own; neither Kafka nor
    the secret of the pipeline is needed.
    """
    from dataflows.commands.evaluate import Options
    from dataflows.commands.evaluate import evaluate as evaluate_pipeline

    options = Options(sample, key_field, epsilons, rivals, runs, seed, plot, as_json)
    evaluate_pipeline(PipelineFile.read(pipeline), options)


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


@app.command()
def ledger(
    pipeline: PipelinePath,
    streams: Annotated[
        int, typer.Option("--streams", "-n", min=0, help="How many streams to show.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what pipelines promise about a source, and the streams nearest to exhaustion."""
    from dataflows.commands.ledger import ledger as show_ledger

    show_ledger(PipelineFile.read(pipeline), streams, as_json)


state = typer.Typer(no_args_is_help=True, help="Look at, check, move or rotate a stopped state.")
app.add_typer(state, name="state")
ArchivePath = Annotated[Path, typer.Argument(metavar="ARCHIVE", help="The archive (.tar.gz).")]


@state.command("show")
def state_show(pipeline: PipelinePath, as_json: AsJson = False) -> None:
    """Show streams, bytes and spent budget of every partition."""
    from dataflows.commands.state import show

    show(PipelineFile.read(pipeline), as_json)


@state.command("verify")
def state_verify(pipeline: PipelinePath) -> None:
    """Check the checksums of the whole state."""
    from dataflows.commands.state import verify

    verify(PipelineFile.read(pipeline))


@state.command("export")
def state_export(pipeline: PipelinePath, archive: ArchivePath) -> None:
    """Write the state to one archive, to continue on another machine."""
    from dataflows.commands.state import export

    export(PipelineFile.read(pipeline), archive)


@state.command("import")
def state_import(pipeline: PipelinePath, archive: ArchivePath) -> None:
    """Unpack an archive into the (empty) state directory of the pipeline file."""
    from dataflows.commands.state import import_

    import_(PipelineFile.read(pipeline), archive)


@state.command("rotate")
def state_rotate(
    pipeline: PipelinePath,
    keys: Annotated[Path, typer.Option(help="Where to write the new key file.")],
) -> None:
    """Continue with the next key; budgets, beliefs and pseudonyms stay as they are."""
    from dataflows.commands.state import rotate

    rotate(PipelineFile.read(pipeline), keys)


model = typer.Typer(no_args_is_help=True, help="Make and look at models of streams.")
app.add_typer(model, name="model")


@model.command("learn")
def model_learn(
    path: Annotated[Path, typer.Argument(metavar="MODEL", help="The model file to write.")],
    history: Annotated[
        list[Path] | None,
        typer.Argument(metavar="HISTORY", help="Files of JSON lines, the oldest record first."),
    ] = None,
    key: Annotated[str, typer.Option(help="The field that names the stream.")] = "key",
    value: Annotated[str | None, typer.Option(help="The field that holds the symbol.")] = None,
    pipeline: Annotated[
        Path | None,
        typer.Option(metavar="PIPELINE", help="Take value, alphabet, other and Kafka from it."),
    ] = None,
    topic: Annotated[
        str | None, typer.Option(help="Read this topic of the pipeline's Kafka, not files.")
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="The pipeline's own source topic is public.")
    ] = False,
    alphabet: Annotated[
        str | None, typer.Option(help="Symbols, with commas between; else those of the history.")
    ] = None,
    min_count: Annotated[
        int, typer.Option(min=1, help="Rarer symbols become --other (text: OTHER).")
    ] = 1,
    other: Annotated[
        str | None, typer.Option(help="What symbols become that are not in the alphabet.")
    ] = None,
    order: Annotated[int, typer.Option(min=1, max=2, help="How many symbols count.")] = 1,
    alpha: Annotated[
        float, typer.Option(min=0.0, max=1e6, help="Added to every count (Laplace).")
    ] = 1.0,
    smoothing: Annotated[
        float, typer.Option(min=0.0, max=0.5, help="Mixed in from the uniform law, on top.")
    ] = 0.0,
    sparse: Annotated[
        bool | None,
        typer.Option("--sparse/--dense", help="Rows or a matrix; else by the alphabet's size."),
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="Where the history is from, to be written down.")
    ] = None,
    date: Annotated[
        str | None, typer.Option(help="The day to be written down, today if not given.")
    ] = None,
    description: Annotated[str, typer.Option(help="A sentence for the file.")] = "",
) -> None:
    """Count public history, and write down how its symbols follow each other.

    Safe are public data, and history whose release is itself accounted for. A model that was
    counted from the private streams leaks them, outside every guarantee.
    """
    from dataflows.commands.model_learn import Options, learn

    options = Options(
        files=history or [],
        topic=topic,
        public=public,
        key=key,
        value=value,
        alphabet=None if alphabet is None else alphabet.split(","),
        min_count=min_count,
        other=other,
        order=order,
        alpha=alpha,
        smoothing=smoothing,
        sparse=sparse,
        source=source,
        date=date or datetime.now(UTC).date().isoformat(),
        description=description,
    )
    learn(path, None if pipeline is None else PipelineFile.read(pipeline), options)


@model.command("show")
def model_show(
    path: Annotated[Path, typer.Argument(metavar="MODEL", help="The model file.")],
    epsilon: Annotated[
        list[float] | None,
        typer.Option(help="Expect accuracy at this epsilon; several times if need be."),
    ] = None,
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="Of each table.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show what a model says, and how accurate releases will be under it."""
    from dataflows.commands.model_show import show

    show(path, epsilon or [0.5, 1.0, 2.0, 4.0], rows, as_json)


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
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
