"""Check everything before a pipeline reads its first record: what all plans have in common."""

import logging
from contextlib import closing
from typing import Any, TypeVar

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.flows.added_partitions import added_partitions
from fugu.dataflows.flows.first_start import (
    empty_topic_begin,
    own_begin,
    require_keys_without_a_past,
)
from fugu.dataflows.flows.found_partitioner import with_partitioner
from fugu.dataflows.flows.given import Given
from fugu.dataflows.flows.pipeline_entry import pipeline_entry
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.flows.sections import is_merged
from fugu.dataflows.flows.state_directories import shard_directories, stored_fingerprint
from fugu.dataflows.flows.state_in_kafka import find_state
from fugu.dataflows.kafka.client import Topic
from fugu.dataflows.kafka.looking_client import LookingClient
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.config import reading_digest
from fugu.dataflows.pipeline.guarantee_data import guarantee_id
from fugu.dataflows.pipeline.mechanisms import remarks_of
from fugu.dataflows.pipeline.topics import (
    Topics,
    bounds_of,
    topic_to_read,
    unlimited_times,
)
from fugu.dataflows.publishing.envelope import Origins, Pseudonyms, Publisher, release_form
from fugu.dataflows.publishing.lease import Leases, find_control
from fugu.dataflows.publishing.ledger_topic import PipelineEntry, find_ledger
from fugu.dataflows.publishing.promise import publish_promise
from fugu.dataflows.publishing.registration import refuse_a_second_sink, register
from fugu.dataflows.stages.stage import Admission, Stage
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint, check_same
from fugu.dataflows.state.looking_directory import LookingDirectory
from fugu.dataflows.state.state_topic import StateTopic
from fugu.operators.randomness import DrawScope
from fugu.operators.temporal.temporal_perturbation import End

log = logging.getLogger(__name__)

Shape = TypeVar("Shape", bound=Plan)


class Preparation:
    """Hold what the plans of all dataflows are made of."""

    def __init__(
        self, given: Given, stop: StopFlag, finishing: End | None, *, looking: bool = False
    ) -> None:
        file, keys = given.file, given.keys
        in_kafka = file.pipeline.state.in_kafka
        self.file, self.stop, self.finishing = file, stop, finishing
        self.directory_class = LookingDirectory if looking else StateDirectory
        self.pipeline, self.pseudonyms = file.pipeline, keys.pseudonyms
        self.mechanism, self.codec = given.configured.mechanism, given.configured.codec
        self.form = release_form(file, self.codec.domain)
        for remark in remarks_of(file, self.mechanism):
            log.warning("%s", remark)
        self.client = LookingClient(given.client) if looking else given.client
        source = topic_to_read(self.client, self.pipeline)
        self.origin = (
            self.client.topic(self.pipeline.source.topic)
            if self.pipeline.source.is_repartitioned
            else None
        )
        creator = None if looking else given.copies
        self.state_topic = (
            find_state(
                self.client,
                self.pipeline,
                source,
                creator,
                keys.pseudonyms,
                given.state_secret,
            )
            if in_kafka
            else None
        )
        stored = self.state_topic.stored() if self.state_topic else stored_fingerprint(file)
        self._settle_partitioner(source, stored)
        self.begun = None if stored is None else stored.partitions
        if source and (added := added_partitions(self.file, source, self.begun)):
            log.warning("%s", added)
        if source and (unlimited := unlimited_times(self.pipeline, source)):
            log.warning("%s", unlimited)
        name, kind, version = self.pipeline.name, self.pipeline.operator.kind, self.pipeline.version
        law = self.mechanism.law_digest()
        self.scope = DrawScope(keys.noise, name, kind, version, law, keys.epoch)
        self.ledger = find_ledger(self.client, self.pipeline)
        claims = None if in_kafka else find_control(self.client, self.pipeline, self.ledger)
        self.leases = None if claims is None else Leases(self.client, claims, name)

    def _settle_partitioner(self, source: Topic | None, stored: Fingerprint | None) -> None:
        self.file, why = with_partitioner(self.file, self.client, source, stored, self.codec)
        self.pipeline = self.file.pipeline
        if why is not None:
            log.info("source.partitioner is %s", why)

    def claim(self, plans: list[Plan]) -> None:
        """Take the leases of all plans, once nothing else refuses the start."""
        if self.leases is not None:
            self.leases.take({plan.unit: plan.directory.path for plan in plans})

    def require_claims(self, plans: list[Plan]) -> None:
        """Raise `StartRefused` if another copy of a state was claimed since."""
        if self.leases is not None:
            with closing(self.leases):
                self.leases.require_own({plan.unit: plan.directory.path for plan in plans})

    def plan(
        self,
        shape: type[Shape],
        home: StateDirectory | StateTopic,
        topics: Topics,
        shard: int | None = None,
        **own: Any,
    ) -> Shape:
        """Return a plan of this shape, with its `own` parts; without a shard it is the only one."""
        current = self.fingerprint(topics, shard, shape.steps)
        fingerprint = self._continued(home, current, topics, shape.shares_sink)
        common = {
            "name": self.pipeline.name,
            "publisher": self.publisher(topics.source),
            "client": self.client,
            "home": home,
            "fingerprint": fingerprint,
            "max_batch": self.pipeline.source.max_batch,
            "stop": self.stop,
            "finishing": self.finishing,
            "leases": self.leases,
        }
        return shape(**{**common, **own})

    def reading(self, stage: Stage[Any]) -> dict[str, Any]:
        """Return the parts of a plan that reads the source."""
        return {"stage": stage, "codec": self.codec}

    def publisher(self, source: Topic) -> Publisher:
        """Return a publisher of its own for each plan, because pseudonyms are remembered by one
        thread alone."""
        return Publisher(
            codec=self.codec,
            scope=self.scope,
            source=source.identity,
            source_topic=source.name,
            guarantee_id=guarantee_id(self.mechanism.guarantees()),
            key_policy=self.pipeline.sink.key,
            pseudonyms=Pseudonyms(self.pseudonyms, self.pipeline.sink.topic),
            form=self.form,
            origins=self._origins(source),
        )

    def _origins(self, source: Topic) -> Origins | None:
        return None if self.origin is None else Origins(self.origin, source.name, self.client)

    def admission(self, source: Topic) -> Admission:
        """Admit as many keys in every partition."""
        most = -(-self.pipeline.state.max_keys // source.partitions)
        partitioner, operator = self.pipeline.source.partitioner, self.pipeline.operator
        assert partitioner != "auto"
        if not is_merged(self.pipeline):
            return Admission(partitioner, source.partitions, most)
        try:
            operator.refuse_large_sums(most * source.partitions)
        except ValueError as error:
            raise ConfigurationError(str(error)) from None
        return Admission(partitioner, source.partitions, most, operator.covers)

    def owned(self, shards: list[int] | None, topics: Topics) -> dict[int, StateDirectory]:
        """Lock the directories of the given shards, which all have partitions.

        Refuse to begin where a state is missing and the keys or the ledger know that there was one;
        topics that hold releases are found when it is begun.
        """
        directories = dict(enumerate(shard_directories(self.file, self.directory_class)))
        chosen = directories if shards is None else {n: directories[n] for n in shards}
        source = topics.source
        if max(chosen) >= source.partitions:  # before any state begins with so many shards
            raise ConfigurationError(
                f"state.shards: {len(directories)}, but topic {source.name} has "
                f"{source.partitions} partitions, so shard {max(chosen)} would have none. Write "
                f"at most {source.partitions}."
            )
        for directory in chosen.values():
            directory.lock()
        missing = next((one.path for one in chosen.values() if one.stored() is None), None)
        if missing is not None:
            require_keys_without_a_past(self.scope.key_epoch, missing)
            if self.ledger is not None:
                refuse_a_second_sink(self.client, self.ledger, self.entry(topics))
        return chosen

    def enter(self, topics: Topics) -> None:
        """Enter the pipeline into its ledger, if it names one, and say to readers what it promises,
        before the first record is read."""
        if self.ledger is not None:
            register(self.client, self.ledger, self.entry(topics))
        if self.form is not None:
            self.form.require_own(self.client, topics.sink)
        publish_promise(self.client, self.file, self.mechanism, topics.sink)

    def entry(self, topics: Topics) -> PipelineEntry:
        """Return what the pipeline promises, for the ledger."""
        source = self.origin or topics.source
        return pipeline_entry(self.pipeline, source, topics.sink, self.mechanism)

    def fingerprint(self, topics: Topics, shard: int | None, steps: list[str]) -> Fingerprint:
        """Return what the state of one shard belongs to."""
        pipeline, scope, ledger = self.pipeline, self.scope, self.ledger
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
            shard=shard or 0,
            shards=1 if shard is None else pipeline.state.shards,
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
            origin_topic="" if self.origin is None else self.origin.name,
            origin_identity="" if self.origin is None else self.origin.identity,
        )

    def _continued(
        self,
        home: StateDirectory | StateTopic,
        current: Fingerprint,
        topics: Topics,
        shares_sink: bool,
    ) -> Fingerprint:
        """Return the stored fingerprint of the same pipeline, or begin a state with a new one."""
        stored = home.stored()
        if stored is None:
            partitions = current.own_partitions
            source = bounds_of(self.client, topics.source, partitions)
            sink_begin = own_begin if shares_sink else empty_topic_begin
            stored = current.model_copy(
                update={
                    "source_begin": {str(partition): b.start for partition, b in source.items()},
                    "sink_begin": sink_begin(self.client, topics.sink, partitions),
                    "dead_letters_begin": empty_topic_begin(
                        self.client, topics.dead_letters, partitions
                    ),
                    "ledger_begin": own_begin(self.client, self.ledger, partitions),
                }
            )
            stored = home.create(stored)
        check_same(stored, current, in_kafka=isinstance(home, StateTopic))
        return stored
