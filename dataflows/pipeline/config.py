"""Declare what a pipeline file may say: its sections as typed, strict models."""

from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Self

import orjson
from pydantic import Field, model_validator

from fugu.dataflows.base.errors import ConfigurationError, UnusableField
from fugu.dataflows.base.logs import LogFormat
from fugu.dataflows.base.section import Section
from fugu.dataflows.files.yaml_file import YamlFile
from fugu.dataflows.kafka.client import identity_of
from fugu.dataflows.kafka.connection import LONGEST_TRANSACTION, Connection, Kafka
from fugu.dataflows.kinds import Operator
from fugu.dataflows.pipeline.sections import (
    LONGEST_TOPIC,
    Alert,
    Budget,
    Ledger,
    MetricsEndpoint,
    SecretSource,
    Sink,
    StateSection,
    TopicName,
)
from fugu.dataflows.pipeline.source_section import RecordFormat, Source, TimestampField


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
        topics += [self.state_topic] if self.state.in_kafka else []
        topics += [self.read_topic] if self.source.is_repartitioned else []
        if len(set(topics)) != len(topics):
            raise ValueError(
                "source, policies, sink, dead-letter, partials, state and repartitioned topics "
                "must be different ones"
            )
        derived = [*topics, f"{self.sink.topic}.promises", f"{self.name}.control"]
        if too_long := [topic for topic in derived if len(topic) > LONGEST_TOPIC]:
            raise ValueError(
                f"topics may have {LONGEST_TOPIC} characters, and {too_long[0]} has more; shorten "
                "the name of the pipeline or of the sink"
            )
        if self.kafka.transactions is True and self.state.every > LONGEST_TRANSACTION:
            raise ValueError(
                "kafka.transactions: a transaction lasts as long as state.every, and what is not "
                "committed cannot be read; write state.every: 60s or less"
            )
        self._check_beside_the_operator()
        if self.source.is_repartitioned:
            self._check_repartitioned()
        if self.state.in_kafka:
            self._check_state_in_kafka()
        return self

    def _check_repartitioned(self) -> None:
        """Refuse what cannot write records and positions in one transaction."""
        for key, given, refused in (
            ("broker", self.kafka.broker, "embedded"),
            ("client", self.kafka.client, "kafka-python"),
        ):
            if given == refused:
                raise ValueError(
                    "source.key.repartition: writes records and positions in one transaction, "
                    f"which kafka.{key}: {refused} cannot; use Apache Kafka with librdkafka, or "
                    "let producers choose partitions by user"
                )

    def _check_state_in_kafka(self) -> None:
        """Refuse what a state in Kafka cannot carry, or does not carry yet."""
        operator, kafka = self.operator, self.kafka
        if operator.on_disk_because:
            raise ValueError(
                f"state.store: a state in Kafka does not carry {operator.kind} yet: "
                f"{operator.on_disk_because}. Write store: disk, directory: PATH and shards: N, "
                "and start it with fugu run --processes N, or --shard on several machines"
            )
        if kafka.broker == "embedded":
            raise ValueError(
                "state.store: kafka needs transactions and fencing, which the embedded broker has "
                "not; write store: disk and a directory"
            )
        if kafka.client == "kafka-python":
            raise ValueError(
                "state.store: kafka needs client: librdkafka; write it, or store: disk"
            )
        if self.state.encrypt == self.secret:
            raise ValueError(
                "state.encrypt: is the secret of the pipeline, which draws its noise; write another"
            )
        if self.source.partitions == "follow":
            raise ValueError(
                "source.partitions: a state in Kafka cannot be moved to added partitions; delete it"
            )

    def _check_beside_the_operator(self) -> None:
        operator, source, dedupe = self.operator, self.source, self.source.dedupe
        if operator.no_budget is not None and self.budget is not None:
            raise ValueError(f"budget: {operator.no_budget.format(kind=operator.kind)}")
        operator.check_life(limited=self.budget is not None and self.budget.window is None)
        if source.budget is not None and not operator.source_budget:
            raise ValueError(
                "source.budget: counts epsilon and delta of streams or windows of time, without a "
                f"model or policies, which {operator.kind} does not state; delete it"
            )
        if operator.no_original_key is not None and self.sink.key == "original":
            raise ValueError(f"sink.key: {operator.no_original_key.format(kind=operator.kind)}")
        if self.sink.partials is not None and not operator.stage.merges:
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
        ticks = operator.in_ticks()
        written = ticks is not None and ticks.time.max_ahead is not None
        if written and not isinstance(source.timestamp, TimestampField):
            raise ValueError(
                "operator.ticks.stream_time.max_ahead: compares the time in a field with that in "
                f"Kafka, and source.timestamp is {source.timestamp}; delete it. The broker limits "
                "its own times: message.timestamp.after.max.ms of the topic"
            )
        if not isinstance(source.value, str) and not operator.several_fields:
            raise ValueError(f"source.value: {operator.kind} reads one field; name it")
        for problem in source.problems_of(operator.fields_read([])):
            raise ValueError(f"operator: {problem}")
        time = source.timestamp.field if isinstance(source.timestamp, TimestampField) else None
        operator.check_fields(source.fields, time, None if dedupe is None else dedupe.field)
        if dedupe is not None and operator.no_dedupe and operator.in_ticks() is not None:
            raise ValueError(f"source.dedupe: {operator.no_dedupe}; delete it")
        operator.refuse_large_sums(self.state.max_keys)

    def _check_streams_can_move(self) -> None:
        if not self.operator.people_can_move:
            raise ValueError(
                f"source.partitions: streams of {self.operator.kind} cannot be moved to other "
                f"partitions, because {self.operator.stays_because}; delete it"
            )
        if self.source.partitioner == "unchecked":
            raise ValueError(
                "source.partitions: to follow is to know where keys belong; write the partitioner "
                "of the producers (murmur2 or crc32), or delete it"
            )

    @property
    def read_topic(self) -> str:
        """Return the topic whose records are released: the source, or what is written of it by
        user."""
        return f"{self.name}.by-user" if self.source.is_repartitioned else self.source.topic

    @property
    def state_topic(self) -> str:
        """Return the topic of a state in Kafka."""
        return self.state.topic or f"{self.name}.state"

    @property
    def tells_streams(self) -> bool:
        """Return whether the sanitized topic tells which releases belong to one stream, so that
        numbers about streams tell nothing more."""
        return self.sink.key != "none" and not self.operator.stage.merges

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
    included = {"value", "timestamp", "partitioner", "dedupe", "format", "coerce", "key"}
    source = pipeline.source.model_dump(include=included, warnings=False)
    if isinstance(pipeline.source.format, RecordFormat):
        source["format"] = pipeline.source.format.as_read
    content = orjson.dumps([source, read], option=orjson.OPT_SORT_KEYS)
    return blake2b(content, digest_size=16).hexdigest()


class PipelineFile:
    """Hold a pipeline together with where it was read from.

    Paths in the file (alphabet, model, state directory, secret file) are relative to the file
    itself.
    """

    def __init__(self, pipeline: Pipeline, file: YamlFile) -> None:
        self.path = file.path
        self.pipeline = pipeline
        self._file = file

    def resolve(self, relative: str) -> Path:
        """Return a path that the file mentions."""
        return (self.path.parent / Path(relative).expanduser()).resolve()

    def connection(self) -> Connection:
        """Return how to reach Kafka as this pipeline, its files and environment variables read."""
        try:
            kafka, every = self.pipeline.kafka, self.pipeline.state.every
            connection = kafka.connection(self.resolve, every)
            return replace(connection, client_id=identity_of(self.pipeline.name))
        except UnusableField as error:
            problem = self._file.problem(["kafka", "security", error.field], error.advice)
            raise ConfigurationError(problem) from None

    def replacing(self, pipeline: Pipeline) -> "PipelineFile":
        """Return the same file with another content, to try something out."""
        return PipelineFile(pipeline, self._file)

    @classmethod
    def read(cls, path: Path, copy: Path | None = None) -> "PipelineFile":
        """Read and check a pipeline file; `ConfigurationError` lists all problems by line.

        A `copy` holds what was in it when a supervisor read it.
        """
        file = YamlFile.read(path, "pipeline file", "name: heart-zones", copy)
        return cls(file.content(Pipeline), file)
