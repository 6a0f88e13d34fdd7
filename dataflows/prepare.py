"""Everything that is checked before a pipeline reads its first record."""

from dataflows.admission import Admission
from dataflows.config import Pipeline, reading_digest
from dataflows.errors import StartRefused
from dataflows.fingerprint import Fingerprint, check_same
from dataflows.flow import STEPS, Plan
from dataflows.guarantee_text import guarantee_id
from dataflows.kafka.client import Client, Topic
from dataflows.kafka.kafka_python import KafkaPythonClient
from dataflows.kafka.source import StopFlag
from dataflows.kafka.topics import Topics, bounds_of, find_topics
from dataflows.ledger.entries import PipelineEntry
from dataflows.ledger.registration import register
from dataflows.ledger.topic import find_ledger
from dataflows.mechanisms import configure, deduplication_of, state_megabytes, ticks_of
from dataflows.pipeline_file import PipelineFile
from dataflows.publish import Pseudonyms, Publisher
from dataflows.secrets import read_keys
from dataflows.state.directory import StateDirectory, shard_directories
from operators.mechanism import Mechanism
from operators.randomness import DrawScope
from operators.temporal.temporal_perturbation import End


def prepare(
    file: PipelineFile, shards: list[int] | None, stop: StopFlag, *, finishing: End | None = None
) -> list[Plan]:
    """Plans of the given shards (of all, if none are given), whose state directories are now owned
    by this process; nothing is read yet. All of them end when `stop` is requested, and, if they are
    `finishing`, let out or discard what streams hold back."""
    pipeline = file.pipeline
    keys = read_keys(file)
    configured = configure(file)
    state_megabytes(pipeline, configured.mechanism)
    client = KafkaPythonClient(file.connection(), pipeline.source.generation)
    topics = find_topics(client, pipeline)
    ledger = find_ledger(client, pipeline)
    kind = pipeline.operator.kind
    law = configured.mechanism.law_digest()
    scope = DrawScope(keys.noise, pipeline.name, kind, pipeline.version, law, keys.epoch)
    publisher = Publisher(
        codec=configured.codec,
        scope=scope,
        source=topics.source.identity,
        source_topic=topics.source.name,
        guarantee_id=guarantee_id(configured.mechanism.guarantees()),
        key_policy=pipeline.sink.key,
        pseudonyms=Pseudonyms(keys.pseudonyms, pipeline.sink.topic),
    )
    directories = shard_directories(file)
    chosen = list(range(len(directories))) if shards is None else shards
    for shard in chosen:
        directories[shard].lock()
    plans = [
        Plan(
            name=pipeline.name,
            mechanism=configured.mechanism,
            codec=configured.codec,
            scope=scope,
            admission=Admission(
                pipeline.source.partitioner,
                topics.source.partitions,
                -(-pipeline.state.max_keys // topics.source.partitions),
            ),
            deduplication=deduplication_of(pipeline),
            publisher=publisher,
            client=client,
            directory=directories[shard],
            fingerprint=_continued(
                directories[shard],
                _fingerprint(file, configured.mechanism, scope, topics, ledger, shard),
                topics,
                ledger,
                client,
            ),
            max_batch=pipeline.source.max_batch,
            stop=stop,
            ticks=ticks_of(pipeline),
            finishing=finishing,
            ledger=ledger if reports_spending(pipeline) else None,
        )
        for shard in chosen
    ]
    if ledger is not None:
        register(client, ledger, _entry(pipeline, configured.mechanism, topics))
    return plans


def _entry(pipeline: Pipeline, mechanism: Mechanism, topics: Topics) -> PipelineEntry:
    guarantees = mechanism.guarantees()
    return PipelineEntry(
        pipeline.name,
        topics.source.name,
        topics.source.identity,
        topics.sink.name,
        topics.sink.identity,
        guarantee_id(guarantees).decode(),
        guarantees,
        pipeline.source.budget,
    )


def reports_spending(pipeline: Pipeline) -> bool:
    """Whether streams appear in the ledger: they need a total to spend, and a public key."""
    budget = pipeline.budget
    return budget is not None and budget.window is None and pipeline.sink.key != "none"


def _fingerprint(
    file: PipelineFile,
    mechanism: Mechanism,
    scope: DrawScope,
    topics: Topics,
    ledger: Topic | None,
    shard: int,
) -> Fingerprint:
    pipeline = file.pipeline
    return Fingerprint(
        pipeline=pipeline.name,
        steps=STEPS,
        operator=mechanism.kind,
        implementation=mechanism.implementation,
        law=scope.law.hex(),
        reading=reading_digest(pipeline),
        version=scope.version,
        key_epoch=scope.key_epoch,
        secret_check=scope.secret.check_value(),
        shard=shard,
        shards=pipeline.state.shards,
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
    )


def _continued(
    directory: StateDirectory,
    current: Fingerprint,
    topics: Topics,
    ledger: Topic | None,
    client: Client,
) -> Fingerprint:
    """The stored fingerprint if it is of the same pipeline; a new one without any state."""
    stored = directory.stored()
    if stored is None:
        partitions = current.own_partitions
        source = bounds_of(client, topics.source, partitions)
        stored = current.model_copy(
            update={
                "source_begin": {str(partition): b.start for partition, b in source.items()},
                "sink_begin": _empty_topic_begin(client, topics.sink, partitions),
                "dead_letters_begin": _empty_topic_begin(client, topics.dead_letters, partitions),
                "ledger_begin": ledger_begin(client, ledger, partitions),
            }
        )
        directory.create(stored)
    check_same(stored, current)
    return stored


def _empty_topic_begin(client: Client, topic: Topic, partitions: list[int]) -> dict[str, int]:
    bounds = bounds_of(client, topic, partitions)
    if any(bound.end > 0 for bound in bounds.values()):
        raise StartRefused(
            f"topic {topic.name} already holds records, but there is no state for them: without "
            "it budgets would be reset and releases repeated. Restore the state directory "
            "(state.directory), or give the pipeline a new, empty topic."
        )
    return {str(partition): bound.end for partition, bound in bounds.items()}


def ledger_begin(client: Client, ledger: Topic | None, partitions: list[int]) -> dict[str, int]:
    """Where the own entries of these partitions will begin."""
    if ledger is None:
        return {}
    bounds = bounds_of(client, ledger, list(range(ledger.partitions)))
    return {str(partition): bounds[partition % ledger.partitions].end for partition in partitions}
