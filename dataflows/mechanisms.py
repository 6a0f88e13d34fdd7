"""From the operator section of a pipeline file to a mechanism and the codec of its domain."""

from dataclasses import dataclass

from dataflows.codec import FieldTimestamp, SymbolCodec
from dataflows.config import PipelineFile, TimestampField
from dataflows.errors import ConfigurationError
from dataflows.model_file import read_model
from operators.mechanism import Mechanism
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
        mechanism = _BY_KIND[operator.kind](model, float(operator.epsilon))
    except ValueError as error:
        raise ConfigurationError(f"operator: {error}") from None
    timestamp = None
    if isinstance(source.timestamp, TimestampField):
        timestamp = FieldTimestamp(source.timestamp.field, _MILLISECONDS[source.timestamp.format])
    codec = SymbolCodec(
        source.value,
        operator.alphabet,
        other=operator.other,
        max_value_bytes=source.max_value_bytes,
        timestamp=timestamp,
    )
    return Configured(mechanism, codec)
