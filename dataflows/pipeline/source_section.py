"""Declare what a pipeline reads: the section `source` of a pipeline file, and its budget."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_args

import orjson
from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from fugu.dataflows.base.field_paths import FieldName, holds
from fugu.dataflows.base.section import Section, named_file
from fugu.dataflows.kafka.partitioner import Partitioner
from fugu.dataflows.kafka.schema_registry import RegistrySection
from fugu.dataflows.pipeline.sections import SecretSource, TopicName
from fugu.dataflows.records.envelopes import ENVELOPES, Envelope, problems_of
from fugu.dataflows.records.json_fields import Format
from fugu.dataflows.records.registered import SchemaKind

DELTA_OF_A_NUMBER = 1e-5
"""Bound the delta that may be stated beside a budget that is a number of nats only."""


@dataclass(frozen=True)
class DeclaredBudget:
    """Allow (epsilon, delta); without a delta, epsilon at the delta that pipelines state.

    That may be at most `DELTA_OF_A_NUMBER`. Where a pipeline that declares it states a total over a
    stream's life, it allows no sum per window, unless `per` says so. Per window, an aligned period
    counts twice.
    """

    epsilon: float
    delta: float | None = None
    per: Literal["window"] | None = None

    @property
    def in_words(self) -> str:
        """Say what is allowed."""
        nats = f"{self.epsilon:g} nats"
        return nats if self.delta is None else f"{nats} and delta {self.delta:g}"


LARGEST_FORWARDED_BYTES = 1_000_000


class TimestampField(Section):
    """Read event time from a field of the record."""

    field: FieldName
    """The field that holds the time."""
    format: Format
    """Say how the time is written: milliseconds or seconds since 1970, or as text."""


class UserKey(Section):
    """Name the field that holds the user, where the key of Kafka does not.

    Producers choose partitions by it. Where they do not, `repartition` writes records through an
    internal topic first, by user.
    """

    field: FieldName
    """The field that names the user: text, or a whole number."""
    repartition: bool = False
    """Write records through an internal topic first, whose partitions go by user."""


class Dedupe(Section):
    """Recognise records sent twice by an event id, among the last `remember` of their stream."""

    field: FieldName
    """The field that holds the event id."""
    remember: int = Field(default=16, ge=1, le=1_000)
    """Say how many ids each stream remembers."""


def _avro_file(given: object, about: ValidationInfo) -> object:
    if not isinstance(given, str):
        raise ValueError("write the name of a file with a schema of Avro")
    path = named_file(given, about)
    try:
        return orjson.loads(path.read_bytes())
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None
    except orjson.JSONDecodeError:
        raise ValueError(f"{path} holds no JSON; write a schema of Avro (.avsc)") from None


class RecordFormat(Section):
    """Say what records are, where they have schemas."""

    kind: SchemaKind
    """Avro, Protocol Buffers, or JSON behind the id of a JSON Schema."""
    registry: RegistrySection | None = None
    """Name the registry of schemas: records begin with the id of theirs."""
    schema_file: Annotated[
        object, BeforeValidator(_avro_file), WithJsonSchema({"type": "string"})
    ] = None
    """The schema (.avsc) of all records, which are nothing but Avro."""
    envelope: Literal["cloudevents", "debezium"] | None = None
    """The envelope that each record holds, if it holds one."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.registry is None) == (self.schema_file is None):
            raise ValueError("write either registry or schema_file")
        if self.schema_file is not None and self.kind != "avro":
            raise ValueError("schema_file: is for kind: avro; write registry")
        return self

    @property
    def as_read(self) -> dict[str, object]:
        """Return what says how records are read; where the registry is does not."""
        return {"kind": self.kind, "schema": self.schema_file, "envelope": self.envelope}


def _no_kind_alone(given: object) -> object:
    if given in get_args(SchemaKind):
        raise ValueError(
            f"{given} needs schemas; write a section, such as "
            f"{{kind: {given}, registry: {{url: http://HOST:PORT}}}}"
        )
    return given


class EpsilonAndDelta(Section):
    """Allow all pipelines over a source (epsilon, delta) together, per window if it says so."""

    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """The most nats of all pipelines together."""
    delta: Annotated[float, Field(gt=0, lt=1)]
    """The largest delta of all pipelines together."""
    per: Literal["window"] | None = None
    """Write `window` if the limit is one for windows, and not for whole lives."""


class PolicySource(Section):
    """Declare the topic of changes of policies, and how owners sign them.

    `signed` says whether there are changes by others; `hmac` is the secret of owners by HMAC.
    """

    topic: TopicName
    """The topic of changes of policies."""
    signed: Literal["optional", "required"] = "optional"
    """Say whether changes that no owner signed count."""
    hmac: SecretSource | None = None
    """Say where the secret is by which owners sign."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.hmac is not None and self.hmac.encoding == "keys":
            raise ValueError("hmac.encoding: keys are those of the pipeline; write a secret apart")
        return self


def _or_a_topic(schema: dict[str, Any]) -> None:
    schema["anyOf"].insert(0, {"type": "string"})


def _section_of_topic(given: object) -> object:
    return {"topic": given} if isinstance(given, str) else given


class Source(Section):
    """Declare the private topic.

    `generation` stands in where a broker has no topic ids: raise it when the topic is created anew.
    `budget` is the most, without a model, that all pipelines over the topic may come to together:
    a number of nats, or epsilon and delta. `policies` is a topic of what people change in a
    policy document.
    """

    topic: TopicName
    """The private topic; its keys are users, unless `key` names a field."""
    policies: Annotated[PolicySource, BeforeValidator(_section_of_topic)] | None = Field(
        default=None, json_schema_extra=_or_a_topic
    )
    """The topic of changes of policies."""
    value: Annotated[
        Annotated[FieldName, Tag("a name")]
        | Annotated[list[FieldName], Field(min_length=1), Tag("a list")],
        Discriminator(lambda value: "a list" if isinstance(value, list) else "a name"),
    ]
    """The field that is released, such as zone or data.zone, or a list of fields."""
    format: Annotated[
        Annotated[Literal["json", "cloudevents", "debezium"], Tag("a word")]
        | Annotated[RecordFormat, Tag("a section")],
        Discriminator(lambda value: "a word" if isinstance(value, str) else "a section"),
        BeforeValidator(_no_kind_alone),
    ] = "json"
    """Say what records are: JSON, JSON in an envelope, or a section about schemas."""
    coerce: Literal["numbers"] | None = None
    """Read numbers that are written as text or as floats, too, where one is read: `numbers`."""
    key: UserKey | None = None
    """Say which field names the user; without it, the key of Kafka does."""
    partitioner: Partitioner | Literal["auto"] = "auto"
    """Say how producers choose the partition of a key; `auto` finds it out."""
    partitions: Literal["fixed", "follow"] = "fixed"
    """Say whether streams move by themselves when partitions are added: `follow`."""
    dedupe: Dedupe | None = None
    """Say how records are recognised that were sent twice."""
    timestamp: Annotated[
        Annotated[Literal["kafka", "broker"], Tag("a word")]
        | Annotated[TimestampField, Tag("a section")],
        Discriminator(lambda value: "a section" if isinstance(value, dict) else "a word"),
    ] = "kafka"
    """The time of a record: `kafka`, `broker` (its clock), or {field: at, format: epoch-ms}."""
    max_value_bytes: int = Field(default=1_000_000, ge=1)
    """The largest value that is read; larger ones become dead letters."""
    max_batch: int = Field(default=5_000, ge=1, le=100_000)
    """The most records that are read at once."""
    generation: int = Field(default=0, ge=0)
    """Say which topic of this name it is, where the broker has no topic ids."""
    budget: (
        Annotated[
            Annotated[float, Field(gt=0, allow_inf_nan=False), Tag("a number")]
            | Annotated[EpsilonAndDelta, Tag("a section")],
            Discriminator(lambda value: "a section" if isinstance(value, dict) else "a number"),
        ]
        | None
    ) = None
    """The most that all pipelines over the topic may come to together: nats, or a section."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key, names in {
            "value": self.fields,
            "timestamp": [self.timestamp.field] if isinstance(self.timestamp, Section) else [],
            "dedupe": [] if self.dedupe is None else [self.dedupe.field],
            "key": [] if self.key is None else [self.key.field],
        }.items():
            for problem in self.problems_of(names):
                raise ValueError(f"{key}: {problem}")
        if self.key is not None:
            self._check_key(self.key)
        return self

    def _check_key(self, key: UserKey) -> None:
        for name in self.fields:
            if holds(name, key.field):
                raise ValueError(
                    f"key: {key.field} names the user, and is in {name}, which is released; "
                    "release another field"
                )
        if not key.repartition:
            return
        if self.partitioner not in ("auto", "murmur2"):
            raise ValueError(
                "partitioner: with key.repartition Fugu chooses partitions itself (murmur2); "
                "delete it"
            )
        if self.partitions == "follow":
            raise ValueError(
                "partitions: with key.repartition added partitions of the source are read anyway; "
                "delete it"
            )
        if self.timestamp == "broker":
            raise ValueError(
                "timestamp: with key.repartition records of several partitions come together, "
                "whose times are in no order; write timestamp: kafka, or a field"
            )
        if self.max_value_bytes > LARGEST_FORWARDED_BYTES:
            raise ValueError(
                f"max_value_bytes: with key.repartition write {LARGEST_FORWARDED_BYTES:,} or less, "
                "so that each record that is read can be written"
            )

    @property
    def is_repartitioned(self) -> bool:
        """Return whether records are read from the internal topic, by user."""
        return self.key is not None and self.key.repartition

    def problems_of(self, names: Iterable[str]) -> list[str]:
        """Return why records of this format hold no such fields."""
        return [] if self.envelope is None else problems_of(self.envelope, names)

    @property
    def envelope(self) -> Envelope | None:
        """Return what opens records; None for plain JSON."""
        if isinstance(self.format, RecordFormat):
            return ENVELOPES.get(self.format.envelope or "")
        return ENVELOPES.get(self.format)

    @property
    def declared_budget(self) -> DeclaredBudget | None:
        """Return what all pipelines over the topic may come to together."""
        match self.budget:
            case EpsilonAndDelta(epsilon=epsilon, delta=delta, per=per):
                return DeclaredBudget(epsilon, delta, per)
            case None:
                return None
            case nats:
                return DeclaredBudget(nats)

    @property
    def fields(self) -> list[str]:
        """Return the fields whose content is released."""
        return [self.value] if isinstance(self.value, str) else self.value

    @property
    def field(self) -> str:
        """Return the field, where there is only one."""
        return self.fields[0]
