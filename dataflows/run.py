"""Running a pipeline: check everything, then hand over to bytewax; stop on SIGTERM and SIGINT."""

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bytewax.dataflow import Dataflow
from bytewax.errors import BytewaxRuntimeError
from bytewax.recovery import (
    InconsistentPartitionsError,
    MissingPartitionsError,
    NoPartitionsError,
    RecoveryConfig,
)
from bytewax.run import cli_main

from dataflows.config import PipelineFile, reading_digest
from dataflows.errors import FuguError, StartRefused
from dataflows.fingerprint import Fingerprint, StateDirectory, check_same
from dataflows.flow import STEPS, Plan, build
from dataflows.guarantee_text import guarantee_id
from dataflows.kafka.client import Bounds, Client, Topic
from dataflows.kafka.kafka_python import KafkaPythonClient
from dataflows.kafka.source import StopFlag
from dataflows.kafka.topics import Topics, find_topics
from dataflows.mechanisms import configure
from dataflows.publish import Pseudonyms, Publisher
from dataflows.secrets import read_secret
from operators.randomness import DrawScope

log = logging.getLogger(__name__)


def run(file: PipelineFile) -> None:
    """Run a pipeline until it is told to stop; anything else raises and is safe to repeat."""
    os.umask(0o077)
    plan = prepare(file)
    for stop_signal in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop_signal, lambda *_: plan.stop.request())
    try:
        pipeline = file.pipeline
        log.info(
            "pipeline %s: %s -> %s, %d partitions, %s, state every %g s",
            pipeline.name,
            pipeline.source.topic,
            pipeline.sink.topic,
            plan.fingerprint.partitions,
            plan.client.name,
            pipeline.state.every.total_seconds(),
        )
        with _native_stderr_hidden():
            cli_main(
                build(plan),
                epoch_interval=pipeline.state.every,
                recovery_config=RecoveryConfig(str(plan.directory.recovery)),
            )
        log.info("pipeline %s: stopped, state is written", pipeline.name)
    except BytewaxRuntimeError as error:
        raise _cause(error) from None
    except (RuntimeError, NoPartitionsError, MissingPartitionsError, InconsistentPartitionsError):
        raise StartRefused(
            f"the recovery store {plan.directory.recovery} cannot be used: it is damaged, or the "
            "disk is full. Restore the state directory from a backup, or start a new pipeline "
            "with a new name, state directory and sink topic."
        ) from None
    plan.directory.unlock()  # after an error only the end of the process is safe


def flow(path: str) -> Dataflow:
    """The dataflow of a pipeline file, for people who know bytewax; `fugu run` is for everyone.

    python -m bytewax.run "dataflows.run:flow('pipeline.yaml')" -r STATE/recovery -s 1
    """
    return build(prepare(PipelineFile.read(Path(path))))


def prepare(file: PipelineFile) -> Plan:
    """Check everything a run needs and own the state directory; nothing is read yet."""
    pipeline = file.pipeline
    secret = read_secret(file)
    configured = configure(file)
    client = KafkaPythonClient(pipeline.kafka, pipeline.source.generation)
    topics = find_topics(client, pipeline)
    directory = StateDirectory(file.resolve(pipeline.state.directory))
    directory.lock()
    law = configured.mechanism.law_digest()
    scope = DrawScope(secret, pipeline.name, pipeline.operator.kind, pipeline.version, law)
    publisher = Publisher(
        codec=configured.codec,
        scope=scope,
        source=topics.source.identity,
        source_topic=topics.source.name,
        guarantee_id=guarantee_id(configured.mechanism.guarantees()),
        key_policy=pipeline.sink.key,
        pseudonyms=Pseudonyms(secret, pipeline.sink.topic),
    )
    current = Fingerprint(
        pipeline=pipeline.name,
        steps=STEPS,
        operator=configured.mechanism.kind,
        implementation=configured.mechanism.implementation,
        law=law.hex(),
        reading=reading_digest(pipeline),
        version=scope.version,
        key_epoch=scope.key_epoch,
        secret_check=secret.check_value(),
        source_topic=topics.source.name,
        source_identity=topics.source.identity,
        partitions=topics.source.partitions,
        sink_topic=topics.sink.name,
        sink_identity=topics.sink.identity,
        sink_key=pipeline.sink.key,
        dead_letters_topic=topics.dead_letters.name,
        dead_letters_identity=topics.dead_letters.identity,
        source_begin=[],
        sink_begin=[],
        dead_letters_begin=[],
    )
    return Plan(
        name=pipeline.name,
        mechanism=configured.mechanism,
        codec=configured.codec,
        scope=scope,
        publisher=publisher,
        client=client,
        directory=directory,
        fingerprint=_continued(directory, current, topics, client),
        max_batch=pipeline.source.max_batch,
        stop=StopFlag(),
    )


def _continued(
    directory: StateDirectory, current: Fingerprint, topics: Topics, client: Client
) -> Fingerprint:
    """The stored fingerprint if it is of the same pipeline; a new one without any state."""
    stored = directory.stored()
    if stored is None:
        stored = current.model_copy(
            update={
                "source_begin": [bound.start for bound in _bounds(client, topics.source)],
                "sink_begin": _empty_topic_begin(client, topics.sink),
                "dead_letters_begin": _empty_topic_begin(client, topics.dead_letters),
            }
        )
        directory.create(stored)
    check_same(stored, current)
    return stored


def _empty_topic_begin(client: Client, topic: Topic) -> list[int]:
    bounds = _bounds(client, topic)
    if any(bound.end > 0 for bound in bounds):
        raise StartRefused(
            f"topic {topic.name} already holds records, but there is no state for them: without "
            "it budgets would be reset and releases repeated. Restore the state directory "
            "(state.directory), or give the pipeline a new, empty topic."
        )
    return [bound.end for bound in bounds]


def _bounds(client: Client, topic: Topic) -> list[Bounds]:
    """First and next offset of every partition, in partition order."""
    reader = client.reader(topic.name)
    try:
        bounds = reader.bounds(list(range(topic.partitions)))
    finally:
        reader.close()
    return [bounds[partition] for partition in sorted(bounds)]


def _cause(error: BaseException) -> FuguError:
    """The error with a text of its own inside what bytewax raised."""
    innermost, cause = error, error.__cause__ or error.__context__
    while cause is not None and not isinstance(innermost, FuguError):
        innermost, cause = cause, cause.__cause__ or cause.__context__
    if isinstance(innermost, FuguError):
        return innermost
    return FuguError(
        f"the pipeline failed in an unexpected way ({type(innermost).__name__}); its state is that "
        "of the last snapshot, and it can be started again."
    )


@contextmanager
def _native_stderr_hidden() -> Iterator[None]:
    """Rust's panic report repeats what the Python exception says; only Python keeps writing."""
    saved = os.dup(2)
    python_stderr = sys.stderr
    handlers = [
        handler
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream is python_stderr
    ]
    visible = os.fdopen(os.dup(saved), "w", buffering=1)
    sys.stderr = visible
    for handler in handlers:
        handler.setStream(visible)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        sys.stderr = python_stderr
        for handler in handlers:
            handler.setStream(python_stderr)
        visible.close()
