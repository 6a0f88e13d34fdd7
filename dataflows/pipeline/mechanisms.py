"""Build what the operator section of a pipeline file describes, and read records for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import cast

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.files.model_file import read_model_file
from fugu.dataflows.kafka.schema_registry import SchemaRegistry
from fugu.dataflows.pipeline.config import Pipeline, PipelineFile
from fugu.dataflows.pipeline.source_section import RecordFormat, TimestampField
from fugu.dataflows.records.avro import AvroSchema
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.deduplication import Deduplication
from fugu.dataflows.records.json_fields import FieldTimestamp, TextTimestamp, UnusableSchema
from fugu.dataflows.records.payloads import Payloads
from fugu.dataflows.records.record_shape import fields_of_numbers
from fugu.dataflows.records.registered import RawAvro, Registered, Wire
from fugu.dataflows.records.release_schema import ReleaseSchema, release_schema
from fugu.dataflows.records.values import Values
from fugu.dataflows.state.row_sizes import estimated_megabytes
from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import ChargingMechanism, Mechanism, State
from fugu.operators.multi_step import IndependentReleases

_DIGITS, _ROUNDING = 10**6, 1e-9
_MILLISECONDS = {"epoch-ms": 1, "epoch-s": 1000}


@dataclass(frozen=True)
class Configured:
    """Hold a mechanism, and how records are read and written for it."""

    mechanism: Mechanism
    codec: Codec


def configure(file: PipelineFile) -> Configured:
    """Build the mechanism and the codec that the pipeline file describes."""
    source, operator, budget = file.pipeline.source, file.pipeline.operator, file.pipeline.budget
    try:
        mechanism, values = operator.mechanism(file), operator.values(source.fields)
        if budget is not None:
            charging = cast(ChargingMechanism, mechanism)
            total = float(budget.total)
            mechanism = Budgeted(charging, total, budget.window, budget.when_exhausted)
    except ValueError as error:
        raise ConfigurationError(f"operator or budget: {error}") from None
    schema_of_releases(file.pipeline, values)
    timestamp, ticks = None, operator.in_ticks()
    if isinstance(source.timestamp, TimestampField):
        timestamp = _timestamp(source.timestamp)
    max_ahead = None if ticks is None else ticks.time.most_ahead
    event = None if source.dedupe is None else source.dedupe.field
    exact = tuple(values.fields) if isinstance(values, Payloads) else ()
    key = None if source.key is None else source.key.field
    codec = Codec(
        values,
        source.max_value_bytes,
        timestamp,
        event,
        exact,
        max_ahead=max_ahead,
        key=key,
        forwarded=source.is_repartitioned,
        topic=file.pipeline.read_topic,
    )
    return Configured(mechanism, in_format(file, codec))


def schema_of_releases(pipeline: Pipeline, values: Values) -> ReleaseSchema | None:
    """Return the schema that releases are written by; None where they are JSON alone."""
    if pipeline.sink.format is None:
        return None
    try:
        return release_schema(pipeline.sink.format.kind, values)
    except UnusableSchema as error:
        raise ConfigurationError(f"sink.format: {error}") from None


def in_format(file: PipelineFile, codec: Codec) -> Codec:
    """Return a codec that reads the same fields in the format of the source."""
    source, timestamp = file.pipeline.source, codec.timestamp
    numbers: tuple[str, ...] = ()
    if source.coerce is not None:
        numbers = fields_of_numbers(codec.domain)
        if timestamp is not None and not isinstance(timestamp, TextTimestamp):
            numbers += (timestamp.field,)
            timestamp = replace(timestamp, fractions=True)
    wire, envelope = _wire(file, codec.names), source.envelope
    return replace(codec, envelope=envelope, numbers=numbers, timestamp=timestamp, wire=wire)


def _wire(file: PipelineFile, names: Sequence[str]) -> Wire | None:
    """Return how records with a schema are read, which must hold these fields; None for JSON."""
    section = file.pipeline.source.format
    if not isinstance(section, RecordFormat):
        return None
    inner = [] if section.envelope == "cloudevents" else names
    if section.registry is None:
        try:
            return RawAvro(AvroSchema.of(section.schema_file, inner))
        except UnusableSchema as error:
            raise ConfigurationError(f"source.format.schema_file: {error}") from None
    settings = partial(section.registry.settings, file.resolve)
    schemas = SchemaRegistry(section.registry.url, settings)
    return Registered(section.kind, schemas, inner, whole=section.envelope is not None)


def _timestamp(section: TimestampField) -> FieldTimestamp:
    if section.format == "rfc3339":
        return TextTimestamp(section.field)
    return FieldTimestamp(section.field, _MILLISECONDS[section.format])


def remarks_of(file: PipelineFile, mechanism: Mechanism) -> list[str]:
    """Return what runs, but hardly does what was meant, or relies on somebody."""
    pipeline = file.pipeline
    return [
        *pipeline.operator.remarks(file, mechanism),
        *published_model_remarks(file),
        *budget_remarks(pipeline),
        *time_remarks(pipeline),
    ]


def published_model_remarks(file: PipelineFile) -> list[str]:
    """Return that the promise publishes what was counted from the private topic, where it does."""
    pipeline = file.pipeline
    model, topic = getattr(pipeline.operator, "model", None), pipeline.source.topic
    if pipeline.sink.promise != "whole" or not isinstance(model, str):
        return []
    learned = read_model_file(file.resolve(model)).learned
    if learned is None or learned.source != topic:
        return []
    return [
        f"operator.model: was learned from {topic}, the private topic of this pipeline, and is "
        f"published whole in {pipeline.sink.topic}.promises: how often which symbol follows which. "
        "No promise covers that. Write sink.promise: without_files, or a model that was learned "
        "from public records or from releases"
    ]


def time_remarks(pipeline: Pipeline) -> list[str]:
    """Return who may move stream time alone, unless brokers set all times."""
    ticks = pipeline.operator.in_ticks()
    remark = None if ticks is None else ticks.time.remark
    return [] if remark is None or pipeline.source.timestamp == "broker" else [remark]


def budget_remarks(pipeline: Pipeline) -> list[str]:
    """Return what a budget pays for that is hardly what was meant."""
    budget = pipeline.budget
    if budget is None or budget.total >= pipeline.operator.nats_per_release:
        return []
    epsilon = pipeline.operator.nats_per_release
    return [
        f"budget.total: {budget.total:g} is less than epsilon ({epsilon:g} nats): a release is "
        "fresh only while the model lets it cost less"
    ]


def refuse_what_pays_nothing(mechanism: Mechanism) -> None:
    """Raise `ConfigurationError` if a stream can pay neither for its first nor a later release.

    Only what begins asks: a state that has such a budget can still be shown, moved and continued.
    """
    if not isinstance(mechanism, Budgeted):
        return
    first = mechanism.start(1)
    same = isinstance(mechanism.mechanism, IndependentReleases)
    if mechanism.pays(first).all() or not (same or mechanism.window is None):
        return
    inner = mechanism.mechanism
    cost = in_nats(int(inner.next_charge(inner.start(1))[0]))
    least = ceil((cost - _ROUNDING) * _DIGITS) / _DIGITS
    raise ConfigurationError(
        f"budget.total: {mechanism.total:g} is less than one release costs ({cost:g} nat"
        f"{'s' * (cost != 1)}), so nothing would ever be released afresh; "
        f"write {least:.12g} or more"
    )


def state_megabytes(pipeline: Pipeline, mechanism: Mechanism) -> float:
    """Return the memory of `max_keys` streams; `ConfigurationError` above the limit."""
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
    """Return how the pipeline recognises records that were sent twice."""
    dedupe = pipeline.source.dedupe
    return None if dedupe is None else Deduplication(dedupe.remember)


def columns_of(pipeline: Pipeline, mechanism: Mechanism) -> Callable[[int], State]:
    """Return what makes the columns of rows."""
    operator = pipeline.operator
    return operator.stage.columns(mechanism, operator.in_ticks(), deduplication_of(pipeline))
