"""Find the topic that holds claims: the ledger, or a small topic of its own."""

import logging

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.pipeline.config import Pipeline

log = logging.getLogger(__name__)

_SETTINGS = {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}


def find_control(client: Client, pipeline: Pipeline, ledger: Topic | None) -> Topic | None:
    """Return the topic of claims, created if the pipeline file says so.

    Without one, a warning says what is not noticed; only a topic that the file names has to be
    there.
    """
    if pipeline.kafka.broker == "embedded":
        return None
    named = pipeline.state.control
    if named is None and ledger is not None:
        return ledger
    name = named or f"{pipeline.name}.control"
    try:
        topic = _found(client, name, create=pipeline.sink.create)
    except KafkaUnavailable as error:
        if named is not None:
            raise
        log.warning("%s", error)
        topic = None
    if topic is None:
        missing = (
            f"topic {name} (state.control) cannot be used. Create it with 1 partition and "
            "cleanup.policy=compact, and grant Describe, DescribeConfigs, Read and Write on it"
        )
        if named is not None:
            raise KafkaUnavailable(f"{missing}.")
        log.warning(
            "pipeline %s: %s; until then nothing notices if a copy of this state runs on another "
            "machine",
            pipeline.name,
            missing,
        )
    return topic


def _found(client: Client, name: str, *, create: bool) -> Topic | None:
    topic = client.topic(name)
    if topic is None and create:
        client.create_topic(name, 1, _SETTINGS)
        topic = client.topic(name)
    found = None if topic is None else (topic.settings or _SETTINGS).get("cleanup.policy")
    if topic is not None and found != "compact":
        raise KafkaUnavailable(
            f"topic {name} (state.control): set cleanup.policy=compact (it is {found}), because "
            "the last claim must stay as long as the state."
        )
    return topic
