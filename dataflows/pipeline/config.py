"""Declare what a pipeline file may say: its sections as typed, strict models."""

from datetime import timedelta
from hashlib import blake2b
from typing import Annotated, Any, Literal, Self

import orjson
from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    model_validator,
)

from fugu.dataflows.base.durations import AS_JSON, between
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
    """The field that holds the time."""
    format: Literal["epoch-ms", "epoch-s"]
    """Say how the time is written: milliseconds or seconds since 1970."""


class Dedupe(Section):
    """Recognise records sent twice by an event id, among the last `remember` of their stream."""

    field: str
    """The field that holds the event id."""
    remember: int = Field(default=16, ge=1, le=1_000)
    """Say how many ids each stream remembers."""


class EpsilonAndDelta(Section):
    """Allow all pipelines over a source (epsilon, delta) together, per window if it says so."""

    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """The most nats of all pipelines together."""
    delta: Annotated[float, Field(gt=0, lt=1)]
    """The largest delta of all pipelines together."""
    per: Literal["window"] | None = None
    """Write `window` if the limit is one for windows, and not for whole lives."""


class SecretSource(Section):
    """Find 32 secret bytes in an environment variable or a file.

    `keys` is the file that `fugu state rotate` writes.
    """

    env: str | None = None
    """The environment variable that holds the secret."""
    file: str | None = None
    """The file that holds the secret."""
    encoding: Literal["hex", "base64", "raw", "keys"] = "hex"
    """Say how the 32 bytes are written."""

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
    """The private topic; its keys are users."""
    policies: Annotated[PolicySource, BeforeValidator(_section_of_topic)] | None = Field(
        default=None, json_schema_extra=_or_a_topic
    )
    """The topic of changes of policies."""
    value: str | Annotated[list[str], Field(min_length=1)]
    """The field that is released, or a list of fields."""
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
    """Say where the time of a record comes from."""
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
    """The sanitized topic."""
    key: Literal["pseudonym", "original", "none"] = "pseudonym"
    """Say what releases have as key."""
    create: bool = False
    """Say whether topics that are not there are created."""
    dead_letters: TopicName | None = None
    """The topic of refused records; by default `TOPIC.dead`."""
    partials: TopicName | None = None
    """The topic of exact partial sums of an aggregate, which is raw data."""

    @property
    def dead_letter_topic(self) -> str:
        """Return the topic of coordinates of refused records."""
        return self.dead_letters or f"{self.topic}.dead"


class StateSection(Section):
    """Say where progress, beliefs and ledgers live, and how often they are written."""

    directory: str
    """The directory of the state; relative to the pipeline file."""
    control: TopicName | None = None
    """The compacted topic of claims of the state; without it the ledger, or NAME.control."""
    every: Annotated[timedelta, BeforeValidator(between("50ms", "60m")), AS_JSON] = timedelta(
        seconds=1
    )
    """Say how often progress is written, from 50ms to 60m."""
    max_keys: int = Field(default=1_000_000, ge=1)
    """The most streams that are known; others become dead letters."""
    max_megabytes: int = Field(default=4_096, ge=1)
    """The most memory that the state may take."""
    shards: int = Field(default=1, ge=1, le=1_000)
    """Into how many parts the state is divided."""


class Budget(Section):
    """Limit what a stream may spend, over its life or in any `window` consecutive records."""

    total: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=False)]
    """The most nats that a stream spends, over its life or in a window."""
    window: int | None = Field(default=None, ge=1, le=100_000)
    """Say how many consecutive records share the total; without it, a whole life does."""
    when_exhausted: WhenExhausted = "repeat"
    """Say what is published where the budget does not suffice."""


class Ledger(Section):
    """Share promises and spent budgets among all pipelines of a source, in a compacted topic."""

    topic: TopicName
    """The compacted topic that all pipelines of the source share."""
    create: bool = False
    """Say whether it is created where it is not there."""


class MetricsEndpoint(Section):
    """Serve numbers and health to everyone who can reach the port."""

    host: str = "127.0.0.1"
    """The address to listen at."""
    port: int = Field(default=9464, ge=1, le=65_535)
    """The port to listen at."""


class Alert(Section):
    """Say when a notice is given of refused records, clocks that are ahead, and spent budgets."""

    refused: float = Field(default=0.05, gt=0, le=1, strict=False)
    """The share of the last records that may be refused."""
    over: int = Field(default=1_000, ge=1, le=1_000_000_000)
    """Say over how many records, at least, the share is taken."""
    ahead: Annotated[timedelta, BeforeValidator(between("1s", "365d")), AS_JSON] = timedelta(
        hours=1
    )
    """Say how far stream time may be ahead of this machine's clock."""
    spent: float = Field(default=0.1, gt=0, le=1, strict=False)
    """The share of streams that may have no budget left, or hardly any."""


class Pipeline(Section):
    """Hold a pipeline file."""

    name: TopicName
    """The name of the pipeline; pseudonyms, noise and state depend on it."""
    version: int = Field(default=1, ge=1)
    """Count versions of the file, for people; noise and names of releases depend on it."""
    source: Source
    """Say what is read."""
    operator: Operator
    """Say what is released of it."""
    budget: Budget | None = None
    """Say what a stream may spend."""
    sink: Sink
    """Say where releases go."""
    ledger: Ledger | None = None
    """Say where pipelines of a source share what they promise and spend."""
    kafka: Kafka
    """Say where Kafka is, and how to log in."""
    state: StateSection
    """Say where progress is kept."""
    secret: SecretSource
    """Say where the secret is that noise and pseudonyms are made with."""
    metrics: MetricsEndpoint | None = None
    """Say where numbers and health are served; without it, nowhere."""
    alert: Alert = Alert()
    """When something that is not as it should be is said."""
    logs: LogFormat = "plain"
    """Say how to log to stderr."""

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
                "source.budget: counts epsilon and delta of streams or windows of time, without a "
                f"model or policies, which {operator.kind} does not state; delete it"
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
        if source.partitions == "follow":
            self._check_streams_can_move()
        if not isinstance(source.value, str) and not operator.several_fields:
            raise ValueError(f"source.value: {operator.kind} reads one field; name it")
        time = source.timestamp.field if isinstance(source.timestamp, TimestampField) else None
        operator.check_fields(source.fields, time, None if dedupe is None else dedupe.field)
        if dedupe is not None and operator.no_dedupe and operator.in_ticks() is not None:
            raise ValueError(f"source.dedupe: {operator.no_dedupe}; delete it")
        operator.refuse_large_sums(self.state.max_keys)

    def _check_streams_can_move(self) -> None:
        if not self.operator.streams_can_move:
            raise ValueError(
                f"source.partitions: streams of {self.operator.kind} cannot be moved to other "
                "partitions, because every partition stands at ticks of its own; delete it"
            )
        if self.source.partitioner == "unchecked":
            raise ValueError(
                "source.partitions: to follow is to know where keys belong; write the partitioner "
                "of the producers (murmur2 or crc32), or delete it"
            )

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
