"""Declare the sections of a pipeline file beside source, operator and kafka."""

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from fugu.dataflows.base.section import Section, is_name_of_variable
from fugu.dataflows.base.ticks import AS_JSON, between
from fugu.dataflows.kafka.schema_registry import RegistrySection
from fugu.dataflows.kinds.families.correlation import Correlation
from fugu.dataflows.records.registered import SchemaKind
from fugu.operators.budget import WhenExhausted
from fugu.operators.leakage.combined import Topology

MOST_ENTERED = 100
"""A matrix of so many values fits into one record of the ledger."""
_LONGEST_CUT = timedelta(seconds=10)
"""The longest time between two cuts of a state in Kafka."""
TopicName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]
LONGEST_TOPIC = 249
"""The most characters that Kafka takes in the name of a topic."""


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
        if self.env is not None and not is_name_of_variable(self.env):
            raise ValueError(
                "env: write the name of an environment variable, such as FUGU_SECRET; the secret "
                "itself never stands in the file"
            )
        if self.env is not None and self.encoding in ("raw", "keys"):
            raise ValueError(f"{self.encoding} needs a file; use hex or base64 with env")
        return self


class ReleaseFormat(Section):
    """Say by which kind of schema releases are written."""

    kind: SchemaKind
    """Avro, Protocol Buffers, or JSON behind the id of a JSON Schema."""
    registry: RegistrySection
    """Name the registry that the schema is registered in, as `TOPIC-value`."""


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
    format: ReleaseFormat | None = None
    """Say by what schema releases are written; without it they are JSON."""
    dead_letters: TopicName | None = None
    """The topic of refused records; by default `TOPIC.dead`."""
    partials: TopicName | None = None
    """The topic of exact partial sums of an aggregate, which is raw data."""
    promise: Literal["whole", "without_files", "none"] = "whole"
    """Say what `TOPIC.promises` tells readers: all, with the contents of files that the operator
    names; the same without these files; or nothing."""

    @property
    def dead_letter_topic(self) -> str:
        """Return the topic of coordinates of refused records."""
        return self.dead_letters or f"{self.topic}.dead"


class StateSection(Section):
    """Say where progress, beliefs and ledgers live, and how often they are written.

    In Kafka, any number of processes share the partitions of the source.
    """

    store: Literal["disk", "kafka"] = "disk"
    """Say where the state is: in a `directory` on `disk`, or in a compacted topic of `kafka`."""
    directory: str = ""
    """The directory of the state; relative to the pipeline file. For store disk alone."""
    topic: TopicName | None = None
    """The compacted topic of the state, by default NAME.state. For store kafka alone."""
    encrypt: SecretSource | None = None
    """Find the secret that encrypts the topic of the state. For store kafka alone."""
    standby: Literal["none", "kept", "all"] = "none"
    """Say which tables of other copies a copy keeps at hand, to take them over at once: `none`,
    those that it had before (`kept`), or `all`. For store kafka alone."""
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
    """Into how many parts the state is divided. For store disk alone."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.in_kafka:
            self._check_kafka()
        elif not self.directory:
            raise ValueError("write directory: PATH, where the state is kept, or store: kafka")
        elif self.topic is not None:
            raise ValueError("topic: is for store: kafka; delete it, or write store: kafka")
        elif self.encrypt is not None:
            raise ValueError("encrypt: is for store: kafka; delete it, or write store: kafka")
        elif self.standby != "none":
            raise ValueError("standby: is for store: kafka; delete it, or write store: kafka")
        return self

    @property
    def in_kafka(self) -> bool:
        """Return whether the state is in a topic, and the process keeps no file."""
        return self.store == "kafka"

    def _check_kafka(self) -> None:
        if self.directory:
            raise ValueError("directory: with store: kafka nothing is kept on disk; delete it")
        if self.shards != 1:
            raise ValueError(
                "shards: with store: kafka the consumer group deals partitions out; delete it, and "
                "start as many copies of fugu run as you like"
            )
        if self.control is not None:
            raise ValueError("control: with store: kafka the state topic holds claims; delete it")
        if self.encrypt is not None and self.encrypt.encoding == "keys":
            raise ValueError("encrypt.encoding: keys is for secret; write hex, base64 or raw")
        if self.every > _LONGEST_CUT:
            raise ValueError(
                f"every: with store: kafka at most {_LONGEST_CUT.total_seconds():g}s, because "
                "readers wait for the transaction of all that time"
            )


class Budget(Section):
    """Limit what a stream may spend, over its life or in any `window` consecutive records."""

    total: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=False)]
    """The most nats that a stream spends, over its life or in a window."""
    window: int | None = Field(default=None, ge=1, le=100_000)
    """Say how many consecutive records share the total; without it, a whole life does."""
    when_exhausted: WhenExhausted = "repeat"
    """Say what is published where the budget does not suffice."""


class Beside(Section):
    """Declare other pipelines about the same people, and what a reader may know about them."""

    pipelines: dict[TopicName, Topology] = Field(min_length=1)
    """Say how the release of each is connected with this one: `parallel` (both read the raw data of
    the same people), `serial` (it reads what this one has released), `disjoint` (nobody is in
    both), or `independent` (attributes that say nothing about each other)."""
    correlation: Correlation | None = None
    """Say how values of one person follow each other; without it, as the operator declares."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        known = self.correlation
        if known is not None and known.at_most is not None:
            raise ValueError("correlation.at_most: bounds nothing here; delete it")
        if known is not None and len(known.transition) > MOST_ENTERED:
            raise ValueError(
                f"correlation.transition: at most {MOST_ENTERED} values go into the ledger, not "
                f"{len(known.transition)}; give fugu explain the matrix (--matrix)"
            )
        return self


class Ledger(Section):
    """Share promises and spent budgets among all pipelines of a source, in a compacted topic."""

    topic: TopicName
    """The compacted topic that all pipelines of the source share."""
    create: bool = False
    """Say whether it is created where it is not there."""
    beside: Beside | None = None
    """Declare other pipelines about the same people; it changes no sum and no budget."""


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
