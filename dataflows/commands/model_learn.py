"""`fugu model learn`: a model file from public or accounted history."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from fugu.dataflows.base.errors import ConfigurationError, KafkaUnavailable
from fugu.dataflows.commands.progress import progress
from fugu.dataflows.commands.published import published_symbols
from fugu.dataflows.files.model_file import read_model_file
from fugu.dataflows.files.model_writing import written
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kinds.crr import CrrOperator
from fugu.dataflows.kinds.grr import GrrOperator
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.symbols import Symbols
from fugu.dataflows.records.training_history import Alphabet, History, Symbol
from fugu.operators.budget import without_budget
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.learning import Counts, Learned, learned, learned_from_responses

_LARGEST_DENSE = 64
_LARGEST_POOLED = 2_000
_OTHER = "OTHER"


@dataclass(frozen=True)
class Options:
    """Hold what to learn from, and how; a pipeline file fills in what is None."""

    files: list[Path]
    topic: str | None
    public: bool
    released_by: PipelineFile | None
    key: str
    value: str | None
    alphabet: list[str] | None
    min_count: int
    other: str | None
    order: int
    alpha: float
    smoothing: float
    sparse: bool | None
    source: str | None
    date: str
    description: str


def learn(path: Path, pipeline: PipelineFile | None, options: Options) -> None:
    """Write a model file; a file that is there is never replaced."""
    if path.exists():
        raise ConfigurationError(
            f"{path} exists, and a model that a pipeline uses must not change; write to another "
            "file, or remove it"
        )
    console, history = Console(), History()
    if options.released_by is not None:
        model, alphabet, source = _from_releases(console, history, options, options.released_by)
    else:
        model, alphabet, source = _from_history(console, history, pipeline, options)
    declared = bool(pipeline or options.released_by or options.alphabet)
    pairs = len(model.rows) - len(alphabet)
    sparse = options.sparse
    if sparse is None:
        sparse = len(alphabet) > _LARGEST_DENSE
    content = written(
        model,
        alphabet,
        sparse=sparse or pairs > 0,
        smoothing=options.smoothing,
        source=options.source or source,
        date=options.date,
        description=options.description,
        declared=declared,
    )
    _write(path, content)
    about = f"{len(alphabet):,} symbols" + (f", {pairs} pairs" if pairs else "")
    console.print(
        f"{path}: {about}, from {len(history.stream_of):,} records of "
        f"{len(history.streams):,} streams. Look at it: fugu model show {path}"
    )
    if not declared:
        console.print(
            "Its symbols stand in sorted order, since none was declared: where their order counts "
            "(operator.distance: ordered), learn with --alphabet, or with --pipeline."
        )
    if history.refused:
        console.print(
            f"{history.refused:,} records were passed over: a pipeline refuses them, too."
        )


def _from_history(
    console: Console, history: History, pipeline: PipelineFile | None, options: Options
) -> tuple[Learned, Alphabet, str]:
    operator = None if pipeline is None else _operator(pipeline)
    value = options.value or (pipeline.pipeline.source.field if pipeline else None)
    if value is None:
        raise ConfigurationError("which field holds the symbol? Give --value, or --pipeline")
    _read(console, history, pipeline, options, value)
    _require_some(history)
    alphabet, other = _alphabet(history, operator, options)
    streams, symbols = history.columns(alphabet, other)
    counts = Counts.of(streams, symbols, len(alphabet), options.order)
    source = options.topic or ", ".join(file.name for file in options.files)
    return learned(counts, options.alpha), alphabet, source


def _from_releases(
    console: Console, history: History, options: Options, file: PipelineFile
) -> tuple[Learned, Alphabet, str]:
    """A function of what is public already."""
    operator, mechanism = file.pipeline.operator, configure(file).mechanism
    response = without_budget(mechanism)
    if not (
        isinstance(operator, GrrOperator) and isinstance(response, GeneralizedRandomizedResponse)
    ):
        raise ConfigurationError(
            f"--released-by {file.path}: operator.kind is {mechanism.kind}, and only the noise of "
            "grr can be undone"
        )
    if options.files or options.topic or options.alphabet or options.order > 1:
        raise ConfigurationError(
            "--released-by takes topic and alphabet from the pipeline, and learns of first order; "
            "leave --topic, --alphabet, --order and files out"
        )
    if response.symbols > _LARGEST_POOLED:
        raise ConfigurationError(
            f"--released-by: noise is undone for at most {_LARGEST_POOLED} symbols, because it is "
            f"a square of them; {file.path} has {response.symbols}"
        )
    client = client_of(file.connection(), file.pipeline.source.generation)
    for _, released in published_symbols(console, client, file, mechanism):
        for stream, sequence in released.items():
            for symbol in sequence:
                history.add(stream, symbol)
    _require_some(history)
    streams, symbols = history.columns(list(range(response.symbols)), None)
    counts = Counts.of(streams, symbols, response.symbols)
    model = learned_from_responses(counts.first, counts.pairs(), response.epsilon, options.alpha)
    return model, operator.alphabet, f"releases of {file.pipeline.name}"


def _require_some(history: History) -> None:
    if not history.stream_of:
        raise ConfigurationError("the history is empty: there is nothing to learn from")


def _operator(file: PipelineFile) -> CrrOperator:
    operator = file.pipeline.operator
    if not isinstance(operator, CrrOperator):
        raise ConfigurationError(f"{file.path}: operator.kind {operator.kind} has no model")
    return operator


def _read(
    console: Console, history: History, file: PipelineFile | None, options: Options, value: str
) -> None:
    if bool(options.files) == (options.topic is not None):
        raise ConfigurationError("give files of JSON lines, or --topic; one of the two")
    if options.topic is None:
        total = sum(path.stat().st_size for path in options.files if path.exists())
        with progress(console, "reading", total) as advance:
            for path in options.files:
                history.read_lines(path, options.key, value, advance)
        return
    if file is None:
        raise ConfigurationError("--topic needs --pipeline, which says how to reach Kafka")
    if options.topic == file.pipeline.source.topic and not options.public:
        raise ConfigurationError(
            f"{options.topic} is the private topic that {file.path} protects. A model that was "
            "counted from it is published with every release and leaks what was counted, outside "
            "every guarantee. Learn from public data, or from history whose release is accounted "
            "for; give --public if the topic holds nothing else"
        )
    _read_topic(console, history, file, options.topic, value)


def _read_topic(
    console: Console, history: History, file: PipelineFile, name: str, value: str
) -> None:
    operator = _operator(file)
    symbols = Symbols(value, operator.alphabet, other=operator.other)
    codec = Codec(symbols, file.pipeline.source.max_value_bytes)
    client = client_of(file.connection(), file.pipeline.source.generation)
    topic = client.topic(name)
    if topic is None:
        raise KafkaUnavailable(f"topic {name} does not exist; correct --topic")
    with closing(client.reader(name)) as reader:
        bounds = reader.bounds(list(range(topic.partitions)))
        total = sum(bound.end - bound.start for bound in bounds.values())
        with progress(console, "reading", total) as advance:
            for partition, bound in sorted(bounds.items()):
                batches = reader.read_range(partition, bound.start, bound.end)
                history.read_batches(batches, codec, operator.alphabet, advance)


def _alphabet(
    history: History, operator: CrrOperator | None, options: Options
) -> tuple[Alphabet, Symbol | None]:
    """The declared alphabet, or the one that is found, and what other symbols become."""
    if options.alphabet is not None:
        integers = all(isinstance(symbol, int) for symbol in history.symbols)
        try:
            declared: Alphabet = (
                [int(symbol) for symbol in options.alphabet] if integers else options.alphabet
            )
            other = _like(options.other, integers)
        except ValueError:
            raise ConfigurationError("--alphabet and --other: the history's are integers") from None
        if len(set(declared)) != len(declared) or other not in [None, *declared]:
            raise ConfigurationError("--alphabet: list every symbol once, and --other among them")
        return declared, other
    if operator is not None:
        return operator.alphabet, operator.other
    integers = all(isinstance(symbol, int) for symbol in history.symbols)
    instead = options.other
    if instead is None and options.min_count > 1 and not integers:
        instead = _OTHER
    try:
        other = _like(instead, integers)
    except ValueError:
        raise ConfigurationError("--other: must be an integer, as the symbols are") from None
    found = history.frequent(options.min_count, other)
    return found, other if other in found else None


def _like(symbol: str | None, integers: bool) -> Symbol | None:
    return int(symbol) if symbol is not None and integers else symbol


def _write(path: Path, content: bytes) -> None:
    """Under another name first: what is left at `path` can be read as a model."""
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
