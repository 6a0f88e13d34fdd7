"""`fugu model ...`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.commands.cli.arguments import EPSILON_OPTIONS, AsJson, numbers
from fugu.dataflows.pipeline.pipeline_file import PipelineFile

app = typer.Typer(no_args_is_help=True, help="Make and look at models of streams.")


@app.command("learn")
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
    released_by: Annotated[
        Path | None,
        typer.Option(
            metavar="PIPELINE",
            help="Learn from what this grr pipeline has released, not from history.",
        ),
    ] = None,
    alphabet: Annotated[
        str | None,
        typer.Option(help="Symbols in order, with commas between; else those found, sorted."),
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

    Safe are public data, and history whose release is itself accounted for: with --released-by, the
    sanitized topic of a grr pipeline, whose noise is undone. A model that was counted from the
    private streams leaks them, outside every guarantee.
    """
    from fugu.dataflows.commands.model_learn import Options, learn

    options = Options(
        files=history or [],
        topic=topic,
        public=public,
        released_by=None if released_by is None else PipelineFile.read(released_by),
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


@app.command("show")
def model_show(
    path: Annotated[Path, typer.Argument(metavar="MODEL", help="The model file.")],
    epsilon: Annotated[
        list[str] | None,
        typer.Option(*EPSILON_OPTIONS, metavar="0.5,1", help="Expect accuracy at these."),
    ] = None,
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="Of each table.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show what a model says, and how accurate releases will be under it."""
    from fugu.dataflows.commands.model_show import show

    show(path, numbers("--epsilon", epsilon or ["0.5,1,2,4"]), rows, as_json)
