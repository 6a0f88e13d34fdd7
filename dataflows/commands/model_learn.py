"""Write a model file from public or accounted history."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.field_paths import steps_of
from fugu.dataflows.commands.arguments import pipeline_option
from fugu.dataflows.commands.model_from_releases import learned_from_releases
from fugu.dataflows.commands.model_history import (
    chosen_alphabet,
    operator_with_model,
    read_files,
    read_topic,
    require_some,
)
from fugu.dataflows.commands.output import Terminal
from fugu.dataflows.files.model_file import read_model_file
from fugu.dataflows.files.model_writing import written
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.records.training_history import Alphabet, History
from fugu.operators.sip.learning import Counts, LearnedIntervals, learned, learned_intervals

_LARGEST_DENSE = 64


def learn(
    path: Annotated[Path, typer.Argument(metavar="MODEL", help="The model file to write.")],
    history: Annotated[
        list[Path] | None,
        typer.Argument(metavar="HISTORY", help="Files of JSON lines, the oldest record first."),
    ] = None,
    key: Annotated[str, typer.Option(help="The field that names the stream.")] = "key",
    value: Annotated[str | None, typer.Option(help="The field that holds the symbol.")] = None,
    pipeline: Annotated[
        PipelineFile | None, pipeline_option("Take value, alphabet, other and Kafka from it.")
    ] = None,
    topic: Annotated[
        str | None, typer.Option(help="Read this topic of the pipeline's Kafka, not files.")
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="The pipeline's own source topic is public.")
    ] = False,
    released_by: Annotated[
        PipelineFile | None,
        pipeline_option("Learn from what this grr pipeline has released, not from history."),
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
    intervals: Annotated[
        float | None,
        typer.Option(
            metavar="CONFIDENCE", help="Write intervals for robust_crr that hold so surely (0.95)."
        ),
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
    if path.exists():
        raise ConfigurationError(
            f"{path} exists, and a model that a pipeline uses must not change; write to another "
            "file, or remove it"
        )
    console, found, files, from_first = Terminal(), History(), history or [], True
    listed = None if alphabet is None else alphabet.split(",")
    symbols: Alphabet
    if released_by is not None:
        if files or topic or listed or order > 1:
            raise ConfigurationError(
                "--released-by takes topic and alphabet from the pipeline, and learns of first "
                "order; leave --topic, --alphabet, --order and files out"
            )
        model, symbols, around, from_first = learned_from_releases(
            console, found, released_by, alpha, intervals
        )
        origin = f"releases of {released_by.pipeline.name}"
    else:
        operator = None if pipeline is None else operator_with_model(pipeline)
        field = value or (pipeline.pipeline.source.field if pipeline else None)
        if field is None:
            raise ConfigurationError("which field holds the symbol? Give --value, or --pipeline")
        _require_fields({"--key": key, "--value": field})
        if bool(files) == (topic is not None):
            raise ConfigurationError("give files of JSON lines, or --topic; one of the two")
        if topic is None:
            read_files(console, found, files, key, field)
        else:
            from_first = read_topic(console, found, pipeline, topic, field, public=public)
        require_some(found)
        symbols, instead = chosen_alphabet(found, operator, listed, min_count, other)
        counts = Counts.of(*found.columns(symbols, instead), len(symbols), order)
        model, origin = learned(counts, alpha), topic or ", ".join(file.name for file in files)
        around = _intervals(counts, intervals)
        if around is not None and instead is not None:
            console.print(
                f"Symbols became {instead}. A chain with merged symbols need not be a Markov "
                "chain, and the confidence of the intervals is about Markov chains alone."
            )
    declared = bool(pipeline or released_by or listed)
    pairs = len(model.rows) - len(symbols)
    if sparse is None:
        sparse = len(symbols) > _LARGEST_DENSE
    if around is not None and (sparse or pairs > 0):
        raise ConfigurationError(
            "--intervals: are for a matrix of first order; leave --sparse and --order out, and "
            f"learn at most {_LARGEST_DENSE} symbols"
        )
    if around is not None and not from_first:
        around = around.without_first()
        console.print(
            "The topic has lost its oldest records, so nobody knows the first symbols of its "
            "streams: their intervals are 0 to 1."
        )
    content = written(
        model,
        symbols,
        sparse=sparse or pairs > 0,
        smoothing=smoothing,
        source=source or origin,
        date=date or datetime.now(UTC).date().isoformat(),
        description=description,
        declared=declared,
        intervals=around,
    )
    _write(path, content)
    about = f"{len(symbols):,} symbols" + (f", {pairs} pairs" if pairs else "")
    console.print(
        f"{path}: {about}, from {len(found.stream_of):,} records of "
        f"{len(found.streams):,} streams. Look at it: fugu model show {path}"
    )
    if not declared:
        console.print(
            "Its symbols stand in sorted order, since none was declared: where their order counts "
            "(operator.distance: ordered), learn with --alphabet, or with --pipeline."
        )
    if found.refused:
        console.print(f"{found.refused:,} records were passed over: a pipeline refuses them, too.")


def _intervals(counts: Counts, confidence: float | None) -> LearnedIntervals | None:
    """Return intervals around what is learned from counts, where they are asked for."""
    if confidence is None:
        return None
    try:
        return learned_intervals(counts.first, counts.pairs(), confidence)
    except ValueError as error:
        raise ConfigurationError(f"--intervals: {error}") from None


def _require_fields(named: dict[str, str]) -> None:
    for option, name in named.items():
        try:
            steps_of(name)
        except ValueError as error:
            raise ConfigurationError(f"{option}: {name} {error}") from None


def _write(path: Path, content: bytes) -> None:
    """Write under another name first: what is left at `path` can be read as a model."""
    beside = path.with_name(path.name + ".new")
    try:
        beside.write_bytes(content)
        read_model_file(beside).model()
        beside.rename(path)
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written ({error.strerror})") from None
    finally:
        beside.unlink(missing_ok=True)
