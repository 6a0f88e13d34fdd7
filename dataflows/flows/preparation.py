"""What all pipelines are checked for before they read their first record."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.flows.first_start import empty_topic_begin, require_keys_without_a_past
from fugu.dataflows.flows.flow import STEPS
from fugu.dataflows.flows.former_stages import former_rows
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.kinds import AggregateOperator
from fugu.dataflows.pipeline.config import Pipeline, reading_digest
from fugu.dataflows.pipeline.guarantee_text import guarantee_id
from fugu.dataflows.pipeline.mechanisms import Configured, configure, state_megabytes, ticks_of
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.pipeline.secrets import read_keys
from fugu.dataflows.pipeline.topics import Topics, bounds_of
from fugu.dataflows.publishing.entries import PipelineEntry
from fugu.dataflows.publishing.envelope import Pseudonyms, Publisher
from fugu.dataflows.publishing.ledger_topic import find_ledger
from fugu.dataflows.publishing.registration import refuse_a_second_sink, register
from fugu.dataflows.stages.admission import Admission
from fugu.dataflows.state.directory import StateDirectory, shard_directories
from fugu.dataflows.state.fingerprint import Fingerprint, check_same
from fugu.dataflows.state.former_rows import FormerRows
from fugu.operators.mechanism import Mechanism
from fugu.operators.randomness import DrawScope
from fugu.operators.secret import Secret

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Preparation:
    """A pipeline file, what it configures, and the Kafka and the secret that it names."""

    file: PipelineFile
    configured: Configured
    client: Client
    ledger: Topic | None
    scope: DrawScope
    pseudonyms: Secret
    stop: StopFlag

    @classmethod
    def of(cls, file: PipelineFile, stop: StopFlag) -> "Preparation":
        """Nothing is owned yet, and nothing read."""
        pipeline, keys = file.pipeline, read_keys(file)
        configured = configure(file)
        state_megabytes(pipeline, configured.mechanism)
        for remark in pipeline.operator.remarks(file, configured.mechanism):
            log.warning("%s", remark)
        client = client_of(file.connection(), pipeline.source.generation)
        law, kind = configured.mechanism.law_digest(), pipeline.operator.kind
        scope = DrawScope(keys.noise, pipeline.name, kind, pipeline.version, law, keys.epoch)
        ledger = find_ledger(client, pipeline)
        return cls(file, configured, client, ledger, scope, keys.pseudonyms, stop)

    @property
    def pipeline(self) -> Pipeline:
        """What the file says."""
        return self.file.pipeline

    @property
    def mechanism(self) -> Mechanism:
        """The configured one."""
        return self.configured.mechanism

    def publisher(self, source: Topic) -> Publisher:
        """Publishes releases about `source`."""
        return Publisher(
            codec=self.configured.codec,
            scope=self.scope,
            source=source.identity,
            source_topic=source.name,
            guarantee_id=guarantee_id(self.mechanism.guarantees()),
            key_policy=self.pipeline.sink.key,
            pseudonyms=Pseudonyms(self.pseudonyms, self.pipeline.sink.topic),
        )

    def admission(self, source: Topic) -> Admission:
        """As many keys in every partition."""
        most = -(-self.pipeline.state.max_keys // source.partitions)
        operator, partitioner = self.pipeline.operator, self.pipeline.source.partitioner
        if isinstance(operator, AggregateOperator):
            try:
                operator.refuse_large_sums(most * source.partitions)
            except ValueError as error:
                raise ConfigurationError(str(error)) from None
            return Admission(partitioner, source.partitions, most, operator.covers)
        return Admission(partitioner, source.partitions, most)

    def owned(self, shards: list[int] | None) -> dict[int, StateDirectory]:
        """The directories of the given shards (of all, if none are given), which are locked now."""
        directories = dict(enumerate(shard_directories(self.file)))
        chosen = directories if shards is None else {n: directories[n] for n in shards}
        for directory in chosen.values():
            directory.lock()
        return chosen

    def check_beginning(self, directories: Iterable[StateDirectory], topics: Topics) -> None:
        """`StartRefused` if a state is missing and the keys or the ledger know that there was one.

        Before a state is begun; topics that hold releases are found when it is.
        """
        missing = next((one.path for one in directories if one.stored() is None), None)
        if missing is None:
            return
        require_keys_without_a_past(self.scope.key_epoch, missing)
        if self.ledger is not None:
            refuse_a_second_sink(self.client, self.ledger, self._entry(topics))

    def former_rows(self, stored: Fingerprint, partition: int) -> FormerRows | None:
        """Return what the version of Fugu before may have left in the row log of a partition."""
        return former_rows(self.pipeline, self.mechanism, stored, partition)

    def enter(self, topics: Topics) -> None:
        """Into the ledger, if there is one."""
        if self.ledger is not None:
            register(self.client, self.ledger, self._entry(topics))

    def fingerprint(
        self, topics: Topics, shard: int, *, shards: int | None = None, steps: list[str] = STEPS
    ) -> Fingerprint:
        """What the state of one shard belongs to."""
        pipeline, scope, ledger = self.pipeline, self.scope, self.ledger
        if shard >= topics.source.partitions:
            raise ConfigurationError(
                f"state.shards: {pipeline.state.shards}, but topic {topics.source.name} has "
                f"{topics.source.partitions} partitions, so shard {shard} would have none. Write "
                f"at most {topics.source.partitions}."
            )
        return Fingerprint(
            pipeline=pipeline.name,
            steps=steps,
            operator=self.mechanism.kind,
            implementation=self.mechanism.implementation,
            law=scope.law.hex(),
            reading=reading_digest(pipeline),
            version=scope.version,
            key_epoch=scope.key_epoch,
            secret_check=scope.secret.check_value(),
            shard=shard,
            shards=pipeline.state.shards if shards is None else shards,
            source_topic=topics.source.name,
            source_identity=topics.source.identity,
            partitions=topics.source.partitions,
            sink_topic=topics.sink.name,
            sink_identity=topics.sink.identity,
            sink_key=pipeline.sink.key,
            dead_letters_topic=topics.dead_letters.name,
            dead_letters_identity=topics.dead_letters.identity,
            ledger_topic="" if ledger is None else ledger.name,
            ledger_identity="" if ledger is None else ledger.identity,
            source_begin={},
            sink_begin={},
            dead_letters_begin={},
            ledger_begin={},
            layout=layout_of(pipeline),
        )

    def continued(
        self,
        directory: StateDirectory,
        current: Fingerprint,
        topics: Topics,
        *,
        shared_sink: bool = False,
    ) -> Fingerprint:
        """The stored fingerprint if it is of the same pipeline; a new one without any state.

        In a `shared_sink` every partition finds its own records among those of others.
        """
        stored = directory.stored()
        if stored is None:
            partitions = current.own_partitions
            source = bounds_of(self.client, topics.source, partitions)
            stored = current.model_copy(
                update={
                    "source_begin": {str(partition): b.start for partition, b in source.items()},
                    "sink_begin": (
                        own_begin(self.client, topics.sink, partitions)
                        if shared_sink
                        else empty_topic_begin(self.client, topics.sink, partitions)
                    ),
                    "dead_letters_begin": empty_topic_begin(
                        self.client, topics.dead_letters, partitions
                    ),
                    "ledger_begin": own_begin(self.client, self.ledger, partitions),
                }
            )
            directory.create(stored)
        check_same(stored, current)
        return stored

    def _entry(self, topics: Topics) -> PipelineEntry:
        guarantees = self.mechanism.guarantees()
        return PipelineEntry(
            self.pipeline.name,
            topics.source.name,
            topics.source.identity,
            topics.sink.name,
            topics.sink.identity,
            guarantee_id(guarantees).decode(),
            guarantees,
            self.pipeline.source.budget,
        )


def own_begin(client: Client, topic: Topic | None, partitions: list[int]) -> dict[str, int]:
    """Where the records of these partitions will begin in a topic that others write to as well."""
    if topic is None:
        return {}
    bounds = bounds_of(client, topic, list(range(topic.partitions)))
    return {str(partition): bounds[partition % topic.partitions].end for partition in partitions}


def layout_of(pipeline: Pipeline) -> int:
    """Return how often what is kept beside a mechanism's own columns has changed, and once more."""
    in_ticks = isinstance(pipeline.operator, AggregateOperator) or ticks_of(pipeline) is not None
    return 2 if in_ticks else 1
