"""From the operator section of a pipeline file to a mechanism and the codec of its domain."""

from dataclasses import dataclass

from dataflows.codec import FieldTimestamp, SymbolCodec
from dataflows.config import Budget, Pipeline, TimestampField
from dataflows.deduplication import Deduplication
from dataflows.errors import ConfigurationError
from dataflows.lift import row_columns
from dataflows.model_file import read_model
from dataflows.pipeline_file import PipelineFile
from dataflows.state.row_table import estimated_megabytes
from operators.budget import Budgeted
from operators.mechanism import ChargingMechanism, Mechanism
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from operators.sip.paper_conditional_randomized_response import PaperConditionalRandomizedResponse

_MILLISECONDS = {"epoch-ms": 1, "epoch-s": 1000}
_BY_KIND: dict[str, type[ConditionalRandomizedResponse]] = {
    cls.kind: cls for cls in (ConditionalRandomizedResponse, PaperConditionalRandomizedResponse)
}


@dataclass(frozen=True)
class Configured:
    """A mechanism and how records are read and written for it."""

    mechanism: Mechanism
    codec: SymbolCodec


def configure(file: PipelineFile) -> Configured:
    """The mechanism that the pipeline file describes."""
    operator, source = file.pipeline.operator, file.pipeline.source
    model = read_model(file.resolve(operator.model), operator.alphabet)
    try:
        mechanism: Mechanism = _with_budget(
            _BY_KIND[operator.kind](model, float(operator.epsilon)), file.pipeline.budget
        )
    except ValueError as error:
        raise ConfigurationError(f"operator or budget: {error}") from None
    timestamp = None
    if isinstance(source.timestamp, TimestampField):
        timestamp = FieldTimestamp(source.timestamp.field, _MILLISECONDS[source.timestamp.format])
    codec = SymbolCodec(
        source.value,
        operator.alphabet,
        other=operator.other,
        max_value_bytes=source.max_value_bytes,
        timestamp=timestamp,
        event=None if source.dedupe is None else source.dedupe.field,
    )
    return Configured(mechanism, codec)


def _with_budget(mechanism: ChargingMechanism, budget: Budget | None) -> Mechanism:
    if budget is None:
        return mechanism
    return Budgeted(mechanism, float(budget.total), budget.window, budget.when_exhausted)


def state_megabytes(pipeline: Pipeline, mechanism: Mechanism) -> float:
    """Memory that the state takes when `max_keys` keys are there; refused above the limit."""
    start = row_columns(mechanism, deduplication_of(pipeline))
    megabytes = estimated_megabytes(start, pipeline.state.max_keys)
    if megabytes > pipeline.state.max_megabytes:
        raise ConfigurationError(
            f"state: {pipeline.state.max_keys} keys would take about {megabytes:,.0f} MB, which is "
            f"above state.max_megabytes ({pipeline.state.max_megabytes}). Lower state.max_keys, or "
            "raise max_megabytes if the machine has the memory."
        )
    return megabytes


def deduplication_of(pipeline: Pipeline) -> Deduplication | None:
    """How the pipeline recognises records that were sent twice."""
    dedupe = pipeline.source.dedupe
    return None if dedupe is None else Deduplication(dedupe.remember)
