"""Declare what a pipeline file may say: its sections as typed, strict models."""

from datetime import timedelta
from hashlib import blake2b
from typing import Annotated, Literal, Self

import orjson
from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    model_validator,
)

from fugu.dataflows.base.durations import between
from fugu.dataflows.base.logs import LogFormat
from fugu.dataflows.base.section import Section
from fugu.dataflows.kafka.connection import Kafka
from fugu.dataflows.kafka.partitioner import Partitioner
from fugu.dataflows.kinds import Operator
from fugu.dataflows.pipeline.declared_budget import DeclaredBudget
from fugu.dataflows.stages.stage_kind import StageKind
from fugu.operators.budget import WhenExhausted

TopicName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]

_LONGEST_TRANSACTION = timedelta(seconds=60)


class TimestampField(Section):
    """Read event time from a field of the record."""

    field: str
    format: Literal["epoch-ms", "epoch-s"]


class Dedupe(Section):
    """Recognise records sent twice by an event id, among the last `remember` of their stream."""

    field: str
    remember: int = Field(default=16, ge=1, le=1_000)


class EpsilonAndDelta(Section):
    """Allow all pipelines over a source (epsilon, delta) together, per window if it says so."""

    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    delta: Annotated[float, Field(gt=0, lt=1)]
    per: Literal["window"] | None = None


class SecretSource(Section):
    """Find 32 secret bytes in an environment variable or a file.

    `keys` is the file that `fugu state rotate` writes.
    """

    env: str | None = None
    file: str | None = None
    encoding: Literal["hex", "base64", "raw", "keys"] = "hex"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.env is None) == (self.file is None):
            raise ValueError("write either env: NAME or file: PATH")
        if self.env is not None and self.encoding in ("raw", "keys"):
            raise ValueError(f"{self.encoding} needs a file; use hex or base64 with env")
        return self


class PolicySource(Section):
    """Declare the topic of changes of policies, and how owners sign them.

    `signed` says whether there are changes by others; `hmac` is the secret of owners by HMAC.
    """

    topic: TopicName
    signed: Literal["optional", "required"] = "optional"
    hmac: SecretSource | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.hmac is not None and self.hmac.encoding == "keys":
            raise ValueError("hmac.encoding: keys are those of the pipeline; write a secret apart")
        return self


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
    policies: Annotated[PolicySource, BeforeValidator(_section_of_topic)] | None = None
    value: str | Annotated[list[str], Field(min_length=1)]
    partitioner: Partitioner | Literal["auto"] = "auto"
    dedupe: Dedupe | None = None
    timestamp: Annotated[
        Annotated[Literal["kafka", "broker"], Tag("a word")]
        | Annotated[TimestampField, Tag("a section")],
        Discriminator(lambda value: "a section" if isinstance(value, dict) else "a word"),
    ] = "kafka"
    max_value_bytes: int = Field(default=1_000_000, ge=1)
    max_batch: int = Field(default=5_000, ge=1, le=100_000)
    generation: int = Field(default=0, ge=0)
    budget: (
        Annotated[
            Annotated[float, Field(gt=0, allow_inf_nan=False), Tag("a number")]
            | Annotated[EpsilonAndDelta, Tag("a section")],
            Discriminator(lambda value: "a section" if isinstance(value, dict) else "a number"),
        ]
        | None
    ) = None

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


class Sink(Section):
    """Declare the sanitized topic; partition i holds the releases of source partition i.

    An aggregate is written to one partition, and its exact `partials` to a topic of their own,
    which is raw data.
    """

    topic: TopicName
    key: Literal["pseudonym", "original", "none"] = "pseudonym"
    create: bool = False
    dead_letters: TopicName | None = None
    partials: TopicName | None = None

    @property
    def dead_letter_topic(self) -> str:
        """Return the topic of coordinates of refused records."""
        return self.dead_letters or f"{self.topic}.dead"


class StateSection(Section):
    """Say where progress, beliefs and ledgers live, and how often they are written.

    `control` is the compacted topic that says which copy of the state goes on: by default the
    ledger, or NAME.control.
    """

    directory: str
    control: TopicName | None = None
    every: Annotated[timedelta, BeforeValidator(between("50ms", "60m"))] = timedelta(seconds=1)
    max_keys: int = Field(default=1_000_000, ge=1)
    max_megabytes: int = Field(default=4_096, ge=1)
    shards: int = Field(default=1, ge=1, le=1_000)


class Budget(Section):
    """Limit what a stream may spend, over its life or in any `window` consecutive records."""

    total: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=False)]
    window: int | None = Field(default=None, ge=1, le=100_000)
    when_exhausted: WhenExhausted = "repeat"


class Ledger(Section):
    """Share promises and spent budgets among all pipelines of a source, in a compacted topic."""

    topic: TopicName
    create: bool = False


class MetricsEndpoint(Section):
    """Serve numbers and health to everyone who can reach the port."""

    host: str = "127.0.0.1"
    port: int = Field(default=9464, ge=1, le=65_535)


class Pipeline(Section):
    """Hold a pipeline file; raise `version` where the same state continues with a new law."""

    name: TopicName
    version: int = Field(default=1, ge=1)
    source: Source
    operator: Operator
    budget: Budget | None = None
    sink: Sink
    ledger: Ledger | None = None
    kafka: Kafka
    state: StateSection
    secret: SecretSource
    metrics: MetricsEndpoint | None = None
    logs: LogFormat = "plain"

    @model_validator(mode="after")
    def _check(self) -> Self:
        topics = [self.source.topic, self.sink.topic, self.sink.dead_letter_topic]
        policies = self.source.policies
        topics += [self.partials_topic, *([policies.topic] if policies else [])]
        if len(set(topics)) != len(topics):
            raise ValueError(
                "source, policies, sink, dead-letter and partials topics must be different ones"
            )
        if self.kafka.transactions and self.state.every > _LONGEST_TRANSACTION:
            raise ValueError(
                "kafka.transactions: a transaction lasts as long as state.every, and what is not "
                "committed cannot be read; write state.every: 60s or less"
            )
        self._check_beside_the_operator()
        return self

    def _check_beside_the_operator(self) -> None:
        operator, source, dedupe = self.operator, self.source, self.source.dedupe
        if operator.no_budget is not None and self.budget is not None:
            raise ValueError(f"budget: {operator.no_budget.format(kind=operator.kind)}")
        if source.budget is not None and not operator.source_budget:
            raise ValueError(
                f"source.budget: counts epsilon and delta without a model or policies, which "
                f"{operator.kind} does not state; delete it"
            )
        if self.sink.partials is not None and operator.stage is not StageKind.AGGREGATE:
            raise ValueError(f"sink.partials: {operator.kind} has no partial sums; delete it")
        if source.policies is not None:
            if not operator.under_policies:
                raise ValueError(f"source.policies: {operator.kind} goes by no policies; delete it")
            if source.policies.hmac == self.secret:
                raise ValueError(
                    "source.policies.hmac: is the secret of the pipeline, which draws its noise; "
                    "write one that owners may know"
                )
        if not isinstance(source.value, str) and not operator.several_fields:
            raise ValueError(f"source.value: {operator.kind} reads one field; name it")
        time = source.timestamp.field if isinstance(source.timestamp, TimestampField) else None
        operator.check_fields(source.fields, time, None if dedupe is None else dedupe.field)
        if dedupe is not None and operator.no_dedupe and operator.in_ticks() is not None:
            raise ValueError(f"source.dedupe: {operator.no_dedupe}; delete it")
        operator.refuse_large_sums(self.state.max_keys)

    @property
    def partials_topic(self) -> str:
        """Return the topic of the partial sums of an aggregate."""
        return self.sink.partials or f"{self.name}.partials"


def reading_digest(pipeline: Pipeline) -> str:
    """Return a digest that changes when the same record would be read as another value or time.

    What is too far ahead and who moves stream time may be changed, because people come and go;
    where records are read again, a release that differs is recognised.
    """
    read = pipeline.operator.model_dump(
        mode="json", by_alias=True, include=set(pipeline.operator.reads)
    )
    ticks = read.get("ticks")
    if isinstance(ticks, dict):
        ticks.pop("max_jump", None)
        ticks.pop("stream_time", None)
    included = {"value", "timestamp", "partitioner", "dedupe"}
    source = pipeline.source.model_dump(include=included, warnings=False)
    content = orjson.dumps([source, read], option=orjson.OPT_SORT_KEYS)
    return blake2b(content, digest_size=16).hexdigest()
