"""The topic of a state is created as safe as the sink, and one that is less safe is refused."""

from pathlib import Path
from uuid import uuid4

import pytest

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.flows.state_in_kafka import find_state
from fugu.dataflows.kafka.looking_client import LookingClient
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.randomness import Secret
from tests.kafka.clients import connected
from tests.kafka.pipelines import pipeline_document, write_pipeline
from tests.kafka.topics import TopicFactory

ANY = Secret(bytes(31) + b"1")
IN_SYNC = "min.insync.replicas"


@pytest.mark.parametrize("only_looking", [True, False])
def test_as_many_brokers_have_the_state_as_have_the_releases(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, *, only_looking: bool
) -> None:
    client, source = connected(bootstrap), topics("private", partitions=2)
    sink = topics("sanitized", partitions=2, configs={IN_SYNC: "2"})
    document = pipeline_document(bootstrap, source, sink)
    document["kafka"]["client"] = "librdkafka"
    document["state"] = {"store": "kafka", "topic": f"state-{uuid4().hex}"}
    pipeline = PipelineFile.read(write_pipeline(tmp_path, document)).pipeline
    asked = LookingClient(client) if only_looking else client
    found = find_state(asked, pipeline, client.topic(source), None, ANY, None)
    assert found is not None
    assert (found.topic.settings or {})[IN_SYNC] == "2"
    assert (client.topic(pipeline.state_topic) is None) == only_looking


def test_a_state_that_fewer_brokers_have_is_refused(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    client, source = connected(bootstrap), topics("private", partitions=2)
    document = pipeline_document(
        bootstrap, source, topics("sanitized", partitions=2, configs={IN_SYNC: "2"})
    )
    document["kafka"]["client"] = "librdkafka"
    state = topics("state", partitions=2, configs={"cleanup.policy": "compact"})
    document["state"] = {"store": "kafka", "topic": state}
    pipeline = PipelineFile.read(write_pipeline(tmp_path, document)).pipeline
    with pytest.raises(KafkaUnavailable, match=f"set {IN_SYNC}=2 or more"):
        find_state(client, pipeline, client.topic(source), None, ANY, None)
