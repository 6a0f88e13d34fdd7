"""Keep the promises of a sanitized topic beside it, in a small compacted topic.

Whoever reads the sanitized topic finds there how to read it. A promise is written before the first
record is released under it. It is written once; a start that finds it there writes nothing, unless
it is to hold other files: compaction then removes the one before.
"""

import logging
from collections.abc import Iterable

from fugu.dataflows.base.errors import DeliveryFailed, KafkaUnavailable
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.pipeline.topics import bounds_of
from fugu.dataflows.publishing.ledger_topic import newest_values, write_record
from fugu.dataflows.publishing.promise import Promise, promise_of
from fugu.operators.mechanism import Mechanism

log = logging.getLogger(__name__)

_SETTINGS = {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}


def promises_topic(sink: str) -> str:
    """Return the name of the topic that holds the promises of a sanitized topic.

    >>> promises_topic("vitals.sanitized")
    'vitals.sanitized.promises'
    """
    return f"{sink}.promises"


def publish_promise(client: Client, file: PipelineFile, mechanism: Mechanism, sink: Topic) -> None:
    """Write the promise of a pipeline, unless it is there.

    It holds from the end of the sink on if releases under another one are there, else from the
    beginning. Without a topic for it, a warning says what readers then need.
    """
    if file.pipeline.sink.promise == "none":
        return
    name = promises_topic(sink.name)
    try:
        problem = _publish(client, file, mechanism, sink)
    except (KafkaUnavailable, DeliveryFailed) as error:
        problem = f"cannot be used ({error})"
    if problem is not None:
        log.warning(
            "topic %s %s, so the promise is not published and readers of %s have to be given it "
            "(fugu explain --json). Create it with 1 partition and cleanup.policy=compact, and "
            "grant Describe, DescribeConfigs, Read and Write on it, or write sink.promise: none",
            name,
            problem,
            sink.name,
        )


def _publish(client: Client, file: PipelineFile, mechanism: Mechanism, sink: Topic) -> str | None:
    """Write the promise, or return what keeps the topic from being used."""
    name = promises_topic(sink.name)
    topic = client.topic(name)
    if topic is None and file.pipeline.sink.create:
        client.create_topic(name, 1, _SETTINGS)
        topic = client.topic(name)
    if topic is None:
        return "does not exist"
    policy = (topic.settings or _SETTINGS).get("cleanup.policy")
    if policy != "compact":
        return f"has cleanup.policy={policy}"
    promise = promise_of(file, mechanism, sink.identity)
    known = [one for one in read_promises(client, topic) if one.sink.identity == sink.identity]
    same = bool(known) and known[-1].says_the_same(promise)
    if same:
        if known[-1].files == promise.files:
            return None
        promise = promise.model_copy(update={"begins": known[-1].begins})
    elif known:
        bounds = bounds_of(client, sink, list(range(sink.partitions)))
        begins = {str(partition): bound.end for partition, bound in bounds.items()}
        promise = promise.model_copy(update={"begins": begins})
    write_record(client, topic, promise.key, promise.value())
    return None


def read_promises(client: Client, topic: Topic) -> list[Promise]:
    """Return all promises of a topic, by where they begin.

    Raises `OtherVersion` where another version of Fugu wrote one.
    """
    found = (Promise.read(value or b"") for value in newest_values(client, topic).values())
    return in_order(one for one in found if one is not None)


def in_order(promises: Iterable[Promise]) -> list[Promise]:
    """Return promises by where they begin."""
    return sorted(promises, key=lambda one: (sum(one.begins.values()), one.key))
