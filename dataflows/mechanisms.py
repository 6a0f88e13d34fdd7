"""From the operator section of a pipeline file to a mechanism and the codec of its domain."""

from dataclasses import dataclass

from dataflows.codec.fields import FieldTimestamp
from dataflows.codec.numbers import Numbers
from dataflows.codec.records import Codec, Domain
from dataflows.codec.symbols import Symbols
from dataflows.config import Budget, Pipeline, TimestampField
from dataflows.deduplication import Deduplication
from dataflows.errors import ConfigurationError
from dataflows.lift import row_columns
from dataflows.model_file import read_model
from dataflows.operator_sections import (
    AdaptiveOperator,
    ColdStartOperator,
    LaplaceOperator,
    MarkovOperator,
)
from dataflows.pipeline_file import PipelineFile
from dataflows.state.row_table import estimated_megabytes
from operators.budget import Budgeted
from operators.laplace_release import LaplaceRelease
from operators.mechanism import ChargingMechanism, Mechanism
from operators.sip.adaptive_release import AdaptiveRelease
from operators.sip.cold_start import ColdStart
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from operators.sip.paper_conditional_randomized_response import PaperConditionalRandomizedResponse

_MILLISECONDS = {"epoch-ms": 1, "epoch-s": 1000}
_MARKOV: dict[str, type[ConditionalRandomizedResponse]] = {
    cls.kind: cls for cls in (ConditionalRandomizedResponse, PaperConditionalRandomizedResponse)
}


@dataclass(frozen=True)
class Configured:
    """A mechanism and how records are read and written for it."""

    mechanism: Mechanism
    codec: Codec


def configure(file: PipelineFile) -> Configured:
    """The mechanism that the pipeline file describes."""
    source = file.pipeline.source
    try:
        charging, domain = _configured(file)
        mechanism = _with_budget(charging, file.pipeline.budget)
    except ValueError as error:
        raise ConfigurationError(f"operator or budget: {error}") from None
    timestamp = None
    if isinstance(source.timestamp, TimestampField):
        timestamp = FieldTimestamp(source.timestamp.field, _MILLISECONDS[source.timestamp.format])
    event = None if source.dedupe is None else source.dedupe.field
    return Configured(mechanism, Codec(domain, source.max_value_bytes, timestamp, event))


def _configured(file: PipelineFile) -> tuple[ChargingMechanism, Domain]:
    operator, field = file.pipeline.operator, file.pipeline.source.value
    match operator:
        case MarkovOperator():
            model = read_model(file.resolve(operator.model), operator.alphabet)
            symbols = Symbols(field, operator.alphabet, other=operator.other)
            return _MARKOV[operator.kind](model, float(operator.epsilon)), symbols
        case AdaptiveOperator():
            model = read_model(file.resolve(operator.model), operator.alphabet)
            decision, fresh = float(operator.decision_epsilon), float(operator.epsilon)
            adaptive = AdaptiveRelease(model, decision, fresh, operator.distance)
            return adaptive, Symbols(field, operator.alphabet, other=operator.other)
        case ColdStartOperator():
            cold = ColdStart(
                len(operator.alphabet),
                float(operator.epsilon),
                operator.positions or 0,
                float(operator.alpha),
                operator.when_short,
            )
            return cold, Symbols(field, operator.alphabet, other=operator.other)
        case LaplaceOperator():
            lower, upper = operator.in_units(operator.lower), operator.in_units(operator.upper)
            scale = operator.units_per_one
            release = LaplaceRelease(lower, upper, float(operator.epsilon), scale)
            return release, Numbers(field, units_per_one=scale)


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
