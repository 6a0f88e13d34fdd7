"""A Kafka that no longer lets a running pipeline in is told of, and rarely."""

import time
from contextlib import closing

import pytest
from confluent_kafka import KafkaError
from pydantic import SecretStr

from fugu.dataflows.kafka.connection import Connection, Credentials
from fugu.dataflows.kafka.native.client import NativeClient
from fugu.dataflows.kafka.native.library import LoginTroubles
from tests.dataflows.kafka.native.filled_topics import Topics, until

CANARY = "secret-canary"


def test_it_is_said_once_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    troubles = LoginTroubles("kafka:9093")
    for seconds in (0, 1, 59, 61):
        now = 1_000.0 + seconds
        troubles.heard(KafkaError._AUTHENTICATION)
    said = "Kafka at kafka:9093 does not let us in (_AUTHENTICATION). Trying again."
    assert [record.getMessage() for record in caplog.records] == [said, said]


def test_what_librdkafka_repairs_by_itself_is_not_said(caplog: pytest.LogCaptureFixture) -> None:
    LoginTroubles("kafka:9093").heard(KafkaError._TRANSPORT)
    assert not caplog.records


def test_a_reader_that_is_not_let_in_says_so(
    topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    topic = topics.new()
    credentials = Credentials("SCRAM-SHA-256", "user", SecretStr(CANARY))
    client = NativeClient(Connection(topics.bootstrap, credentials=credentials))
    with closing(client.reader(topic)) as reader:
        reader.assign({0: 0})

        def is_said() -> bool:
            assert reader.poll(9) == []
            return any("does not let us in (_AUTHENTICATION)" in text for text in caplog.messages)

        until(is_said)
    assert CANARY not in caplog.text
