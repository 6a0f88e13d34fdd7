"""Read the history that `fugu model learn` counts: files or a topic, and their alphabet."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from fugu.dataflows.base.errors import ConfigurationError, KafkaUnavailable
from fugu.dataflows.commands.output import Terminal, progress
from fugu.dataflows.kafka.client import Bounds
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kinds.families.models import ModelOperator
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import in_format
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.symbols import Symbols
from fugu.dataflows.records.training_history import Alphabet, History, Symbol

_OTHER = "OTHER"


def operator_with_model(file: PipelineFile) -> ModelOperator:
    """Return the operator of a pipeline; `ConfigurationError` if it has no model."""
    operator = file.pipeline.operator
    if not isinstance(operator, ModelOperator):
        raise ConfigurationError(
            f"{file.path}: operator.kind {operator.kind} has no model; give a pipeline whose kind "
            "has one, such as crr"
        )
    return operator


def read_files(
    console: Terminal, history: History, files: list[Path], key: str, value: str
) -> None:
    """Add the records of files of JSON lines to the history."""
    total = sum(path.stat().st_size for path in files if path.exists())
    with progress(console, "reading", total) as advance:
        for path in files:
            history.read_lines(path, key, value, advance)


def read_topic(
    console: Terminal,
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
    operator, source = operator_with_model(file), file.pipeline.source
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
    return from_first(bounds)


def from_first(bounds: Mapping[int, Bounds]) -> bool:
    """Return whether a topic holds its partitions from their first record."""
    return all(bound.start == 0 for bound in bounds.values())


def require_some(history: History) -> None:
    """Raise `ConfigurationError` for a history without records."""
    if not history.stream_of:
        raise ConfigurationError("the history is empty; give files or a topic with records")


def chosen_alphabet(
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
