"""Write a model file from public or accounted history."""

from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fugu.dataflows.base.errors import ConfigurationError, KafkaUnavailable
from fugu.dataflows.base.field_paths import steps_of
from fugu.dataflows.commands.arguments import pipeline_option
from fugu.dataflows.commands.output import progress
from fugu.dataflows.commands.published import published_symbols
from fugu.dataflows.files.model_file import read_model_file
from fugu.dataflows.files.model_writing import written
from fugu.dataflows.kafka.client import Bounds
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kinds.families.models import ModelOperator
from fugu.dataflows.kinds.grr import GrrOperator
from fugu.dataflows.pipeline.mechanisms import configure, in_format
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.pipeline.topics import bounds_of
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.symbols import Symbols
from fugu.dataflows.records.training_history import Alphabet, History, Symbol
from fugu.operators.budget import Budgeted, without_budget
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.learning import Counts, Learned, learned, learned_from_responses
from fugu.operators.sip.model_confidence import (
    LearnedIntervals,
    intervals_of_responses,
    learned_intervals,
)

_LARGEST_DENSE = 64
_LARGEST_POOLED = 2_000
_OTHER = "OTHER"


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
    console, found, files, from_first = Console(), History(), history or [], True
    listed = None if alphabet is None else alphabet.split(",")
    symbols: Alphabet
    if released_by is not None:
        if files or topic or listed or order > 1:
            raise ConfigurationError(
                "--released-by takes topic and alphabet from the pipeline, and learns of first "
                "order; leave --topic, --alphabet, --order and files out"
            )
        model, symbols, around, from_first = _from_releases(
            console, found, released_by, alpha, intervals
        )
        origin = f"releases of {released_by.pipeline.name}"
    else:
        operator = None if pipeline is None else _operator(pipeline)
        field = value or (pipeline.pipeline.source.field if pipeline else None)
        if field is None:
            raise ConfigurationError("which field holds the symbol? Give --value, or --pipeline")
        _require_fields({"--key": key, "--value": field})
        if bool(files) == (topic is not None):
            raise ConfigurationError("give files of JSON lines, or --topic; one of the two")
        if topic is None:
            _read_files(console, found, files, key, field)
        else:
            from_first = _read_topic(console, found, pipeline, topic, field, public=public)
        _require_some(found)
        symbols, instead = _alphabet(found, operator, listed, min_count, other)
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


def _from_releases(
    console: Console,
    history: History,
    file: PipelineFile,
    alpha: float,
    confidence: float | None,
) -> tuple[Learned, Alphabet, LearnedIntervals | None, bool]:
    """Undo the noise of what a pipeline has published, which its guarantee covers already.

    The last of what is returned says whether the topic holds its streams from their first release.
    """
    operator, mechanism = file.pipeline.operator, configure(file).mechanism
    response = without_budget(mechanism)
    if not (
        isinstance(operator, GrrOperator) and isinstance(response, GeneralizedRandomizedResponse)
    ):
        raise ConfigurationError(
            f"--released-by {file.path}: operator.kind is {mechanism.kind}, and only the noise of "
            "grr can be undone"
        )
    if response.symbols > _LARGEST_POOLED:
        raise ConfigurationError(
            f"--released-by: noise is undone for at most {_LARGEST_POOLED} symbols, because it is "
            f"a square of them; {file.path} has {response.symbols}"
        )
    if isinstance(mechanism, Budgeted) and mechanism.window is not None:
        raise ConfigurationError(
            f"--released-by {file.path}: budget.window: positions without a release are not in the "
            "sanitized topic, so what follows a symbol there need not have followed it in the "
            "stream. Learn from a pipeline with a budget over the whole life of a stream, or "
            "without one"
        )
    client = client_of(file.connection(), file.pipeline.source.generation)
    topic = client.topic(file.pipeline.sink.topic)
    bounds = bounds_of(client, topic, list(range(topic.partitions))) if topic else {}
    for _, released in published_symbols(console, client, file, mechanism, bounds):
        for stream, sequence in released.items():
            for symbol in sequence:
                history.add(stream, symbol)
    _require_some(history)
    streams, symbols = history.columns(list(range(response.symbols)), None)
    counts = Counts.of(streams, symbols, response.symbols)
    pairs = counts.pairs()
    model = learned_from_responses(counts.first, pairs, response.epsilon, alpha)
    if confidence is None:
        return model, operator.alphabet, None, True
    try:
        around = intervals_of_responses(counts.first, pairs, response.epsilon, confidence)
    except ValueError as error:
        raise ConfigurationError(f"--intervals: {error}") from None
    return model, operator.alphabet, around, _from_first(bounds)


def _require_fields(named: dict[str, str]) -> None:
    for option, name in named.items():
        try:
            steps_of(name)
        except ValueError as error:
            raise ConfigurationError(f"{option}: {name} {error}") from None


def _require_some(history: History) -> None:
    if not history.stream_of:
        raise ConfigurationError("the history is empty: there is nothing to learn from")


def _operator(file: PipelineFile) -> ModelOperator:
    operator = file.pipeline.operator
    if not isinstance(operator, ModelOperator):
        raise ConfigurationError(f"{file.path}: operator.kind {operator.kind} has no model")
    return operator


def _read_files(
    console: Console, history: History, files: list[Path], key: str, value: str
) -> None:
    total = sum(path.stat().st_size for path in files if path.exists())
    with progress(console, "reading", total) as advance:
        for path in files:
            history.read_lines(path, key, value, advance)


def _read_topic(
    console: Console,
    history: History,
    file: PipelineFile | None,
    name: str,
    value: str,
    *,
    public: bool,
) -> bool:
    """Read a topic; return whether it holds its streams from their first record."""
    if file is None:
        raise ConfigurationError("--topic needs --pipeline, which says how to reach Kafka")
    if name in (file.pipeline.source.topic, file.pipeline.read_topic) and not public:
        raise ConfigurationError(
            f"{name} is the private topic that {file.path} protects. A model that was counted from "
            "it is published with every release and leaks what was counted, outside every "
            "guarantee. Learn from public data, or from history whose release is accounted for; "
            "give --public if the topic holds nothing else"
        )
    operator, source = _operator(file), file.pipeline.source
    key = None if source.key is None else source.key.field
    symbols = Symbols(value, operator.alphabet, other=operator.other)
    codec = in_format(file, Codec(symbols, source.max_value_bytes, key=key))
    client = client_of(file.connection(), file.pipeline.source.generation)
    topic = client.topic(name)
    if topic is None:
        raise KafkaUnavailable(f"topic {name} does not exist; correct --topic")
    with closing(client.reader(name, headers=codec.reads_headers)) as reader:
        bounds = reader.bounds(list(range(topic.partitions)))
        total = sum(bound.end - bound.start for bound in bounds.values())
        with progress(console, "reading", total) as advance:
            for partition, bound in sorted(bounds.items()):
                batches = reader.read_range(partition, bound.start, bound.end)
                history.read_batches(batches, codec, operator.alphabet, advance)
    return _from_first(bounds)


def _from_first(bounds: Mapping[int, Bounds]) -> bool:
    return all(bound.start == 0 for bound in bounds.values())


def _alphabet(
    history: History,
    operator: ModelOperator | None,
    listed: list[str] | None,
    min_count: int,
    instead: str | None,
) -> tuple[Alphabet, Symbol | None]:
    """Return the declared alphabet, or the one that is found, and what other symbols become."""
    integers = all(isinstance(symbol, int) for symbol in history.symbols)
    if listed is not None:
        try:
            declared: Alphabet = [int(symbol) for symbol in listed] if integers else listed
            other = _like(instead, integers)
        except ValueError:
            raise ConfigurationError("--alphabet and --other: the history's are integers") from None
        if len(set(declared)) != len(declared) or other not in [None, *declared]:
            raise ConfigurationError("--alphabet: list every symbol once, and --other among them")
        return declared, other
    if operator is not None:
        return operator.alphabet, operator.other
    if instead is None and min_count > 1 and not integers:
        instead = _OTHER
    try:
        other = _like(instead, integers)
    except ValueError:
        raise ConfigurationError("--other: must be an integer, as the symbols are") from None
    found = history.frequent(min_count, other)
    return found, other if other in found else None


def _like(symbol: str | None, integers: bool) -> Symbol | None:
    return int(symbol) if symbol is not None and integers else symbol


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
