"""A topic that was just created is there, though a broker has not heard of it yet."""

import pytest

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
