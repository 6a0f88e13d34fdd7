"""From the operator section of a pipeline file to a mechanism and the codec of its domain."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.files.model_file import read_model
from fugu.dataflows.files.points_file import read_points
from fugu.dataflows.kinds import (
    AdaptiveOperator,
    AggregateOperator,
    BatchedMarkovOperator,
    ChargedOperator,
    ColdStartOperator,
    LaplaceOperator,
    LocalRealTimeOperator,
    MarkovOperator,
    PlacedSymbols,
    RandomizedResponseOperator,
    TemporalOperator,
)
from fugu.dataflows.kinds.aggregate_mechanisms import contributions, mechanism_of
from fugu.dataflows.kinds.temporal_mechanism import temporal_mechanism
from fugu.dataflows.pipeline.config import Budget, Pipeline, TimestampField
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.records.codec import Codec, Domain, Values
from fugu.dataflows.records.deduplication import Deduplication
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.payloads import Payloads
from fugu.dataflows.records.series import Series
from fugu.dataflows.records.symbols import PlainSymbols, SymbolBatches, Symbols, SymbolSets
from fugu.dataflows.stages.bounding import cells
from fugu.dataflows.stages.displaced import tick_columns
from fugu.dataflows.stages.per_record import row_columns
from fugu.dataflows.stages.series import series_columns
from fugu.dataflows.state.row_table import estimated_megabytes
from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import ChargingMechanism, Mechanism, State
from fugu.operators.noise.laplace_release import LaplaceRelease
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.chain import Chain
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import HAMMING, Distance, Ordered, Points
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.paper_conditional_randomized_response import (
    PaperConditionalRandomizedResponse,
)

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
        mechanism, domain = _configured(file)
    except ValueError as error:
        raise ConfigurationError(f"operator or budget: {error}") from None
    timestamp = None
    if isinstance(source.timestamp, TimestampField):
        timestamp = FieldTimestamp(source.timestamp.field, _MILLISECONDS[source.timestamp.format])
    event = None if source.dedupe is None else source.dedupe.field
    exact = tuple(domain.fields) if isinstance(domain, Payloads) else ()
    return Configured(mechanism, Codec(domain, source.max_value_bytes, timestamp, event, exact))


def _configured(file: PipelineFile) -> tuple[Mechanism, Values]:
    operator = file.pipeline.operator
    if isinstance(operator, TemporalOperator):
        return temporal_mechanism(operator), Payloads(
            file.pipeline.source.fields, null=operator.null
        )
    if isinstance(operator, AggregateOperator):
        return mechanism_of(operator), contributions(operator, file.pipeline.source.field)
    if isinstance(operator, LocalRealTimeOperator):
        return _local_series(operator), Series(
            file.pipeline.source.field,
            units_per_one=operator.units_per_one,
            whole=operator.presentation == "integer",
        )
    charging, domain = _charging(file, operator)
    return _with_budget(charging, file.pipeline.budget), domain


def _charging(file: PipelineFile, operator: ChargedOperator) -> tuple[ChargingMechanism, Domain]:
    field = file.pipeline.source.field
    match operator:
        case MarkovOperator():
            model = read_model(file.resolve(operator.model), operator.alphabet)
            symbols = Symbols(field, operator.alphabet, other=operator.other)
            return _markov(file, operator, model), symbols
        case RandomizedResponseOperator():
            form = SymbolSets if operator.releases_sets else PlainSymbols
            return _response(operator), form(field, operator.alphabet, other=operator.other)
        case BatchedMarkovOperator():
            model = read_model(file.resolve(operator.model), operator.alphabet)
            if not isinstance(model, MarkovModel):
                raise ValueError(
                    "model: batched_crr takes first-order models with full rows only; write the "
                    "rows in full, or kind: crr"
                )
            batches = SymbolBatches(field, operator.alphabet, other=operator.other)
            epsilon, distance = float(operator.epsilon_per_batch), _distance(file, operator)
            batched = BatchedRelease(model, operator.window, epsilon, distance, operator.kernel)
            return batched, batches
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


def _local_series(operator: LocalRealTimeOperator) -> LocalRealTimeRelease:
    return LocalRealTimeRelease(
        operator.in_units(operator.lower),
        operator.in_units(operator.upper),
        units_per_one=operator.units_per_one,
        tick_milliseconds=operator.in_ticks().width,
        **operator.release_parameters(),
    )


def _response(operator: RandomizedResponseOperator) -> ChargingMechanism:
    symbols, epsilon = len(operator.alphabet), float(operator.epsilon)
    if operator.kind == "grr":
        return GeneralizedRandomizedResponse(symbols, epsilon)
    return OptimizedUnaryEncoding(symbols, epsilon, operator.output or "bits")


def _markov(
    file: PipelineFile, operator: MarkovOperator, model: Chain
) -> ConditionalRandomizedResponse:
    distance = _distance(file, operator)
    gaps = None if operator.step is None else operator.step.gaps
    kind = _MARKOV[operator.kind]
    return kind(model, float(operator.epsilon), distance, operator.mode, operator.kernel, gaps)


def _distance(file: PipelineFile, operator: MarkovOperator | BatchedMarkovOperator) -> Distance:
    match operator.distance:
        case "hamming":
            return HAMMING
        case "ordered":
            return Ordered()
        case PlacedSymbols(points=str(path)):
            return read_points(file.resolve(path), operator.alphabet)
        case PlacedSymbols(points=points):
            return Points(np.array(points))


def _with_budget(mechanism: ChargingMechanism, budget: Budget | None) -> Mechanism:
    if budget is None:
        return mechanism
    return Budgeted(mechanism, float(budget.total), budget.window, budget.when_exhausted)


def state_megabytes(pipeline: Pipeline, mechanism: Mechanism) -> float:
    """Memory that the state takes when `max_keys` keys are there; refused above the limit."""
    start = columns_of(pipeline, mechanism)
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


def ticks_of(pipeline: Pipeline) -> Ticks | None:
    """The ticks of event time that streams go through together; None without any."""
    operator = pipeline.operator
    if isinstance(operator, TemporalOperator | LocalRealTimeOperator):
        return operator.in_ticks()
    return None


def columns_of(pipeline: Pipeline, mechanism: Mechanism) -> Callable[[int], State]:
    """The columns of a row."""
    if isinstance(pipeline.operator, AggregateOperator):
        return partial(cells, pipeline.operator.in_ticks())
    ticks = ticks_of(pipeline)
    if ticks is not None:
        columns = series_columns if isinstance(mechanism, LocalRealTimeRelease) else tick_columns
        return columns(mechanism, ticks)
    return row_columns(mechanism, deduplication_of(pipeline))
