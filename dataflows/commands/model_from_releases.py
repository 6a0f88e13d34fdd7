"""Learn a model from what a `grr` pipeline has released."""

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.model_history import from_first, require_some
from fugu.dataflows.commands.output import Terminal
from fugu.dataflows.commands.published import published_symbols
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kinds.grr import GrrOperator
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.topics import bounds_of
from fugu.dataflows.records.training_history import Alphabet, History
from fugu.operators.budget import Budgeted, without_budget
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.learning import (
    Counts,
    Learned,
    LearnedIntervals,
    intervals_of_responses,
    learned_from_responses,
)

_LARGEST_POOLED = 2_000


def learned_from_releases(
    console: Terminal,
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
    require_some(history)
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
    return model, operator.alphabet, around, from_first(bounds)
