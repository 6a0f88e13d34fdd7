"""A topic that was just created is there, though a broker has not heard of it yet."""

from typing import Any

import pytest

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka import kafka_python
from fugu.dataflows.kafka.client import Topic
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.kafka_python import KafkaPythonClient

CREATED = Topic("created", "identity", 1, {}, 1)


class Admin:
    """Creates, and says so."""

    def create_topics(self, new: object) -> None:
        """All is well."""

    def wait_for_topics(self, names: object) -> None:
        """One broker knows it."""


def test_a_broker_that_has_not_heard_of_a_created_topic_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = KafkaPythonClient(Connection("127.0.0.1:1"))
    answers = [None, None, None, CREATED]
    monkeypatch.setattr(client, "_admin", Admin)
    monkeypatch.setattr(client, "_described", lambda name: answers.pop(0))
    assert client.topic("never created") is None
    client.create_topic("created", 1, {})
    assert client.topic("created") is CREATED


class SlowToTell(Admin):
    """Knows a topic, and not yet its settings, as where another process has just created it."""

    def __init__(self, answers: int) -> None:
        self.answers = answers

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        partition = {"replica_nodes": [1]}
        return [{"error_code": 0, "topic_id": "identity", "partitions": [partition]}]

    def describe_configs(self, resources: object, config_filter: object) -> dict[str, Any]:
        self.answers -= 1
        told = {} if self.answers > 0 else {"cleanup.policy": {"value": "delete"}}
        return {"topic": {"created": told}}


def test_a_broker_that_does_not_tell_the_settings_of_a_new_topic_yet_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client, admin = KafkaPythonClient(Connection("127.0.0.1:1")), SlowToTell(4)
    monkeypatch.setattr(client, "_admin", lambda: admin)
    topic = client.topic("created")
    assert topic is not None
    assert topic.settings == {"cleanup.policy": "delete"}


def test_a_broker_that_never_tells_them_has_not_granted_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client, admin = KafkaPythonClient(Connection("127.0.0.1:1")), SlowToTell(10**6)
    monkeypatch.setattr(client, "_admin", lambda: admin)
    monkeypatch.setattr(kafka_python, "_NEW_SECONDS", 0.1)
    with pytest.raises(KafkaUnavailable, match="lacks a right"):
        client.topic("created")
