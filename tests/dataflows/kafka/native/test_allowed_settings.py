"""Let `kafka.settings` choose what touches no promise, and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from fugu.dataflows.kafka.connection import ALLOWED_SETTINGS, Connection
from fugu.dataflows.kafka.native.consumer import consumer_of, producer_of
from fugu.dataflows.kafka.native.settings import (
    READING,
    TRANSACTIONS,
    UNCOMMITTED,
    WRITING,
    settings_of,
    writing_settings_of,
)
from tests.dataflows.pipeline.pipeline_files import read, read_error, with_change

CHOSEN: dict[str, Any] = {
    "broker.address.family": "v4",
    "client.dns.lookup": "use_all_dns_ips",
    "client.id": "clinic",
    "client.rack": "rack-1",
    "compression.level": 3,
    "compression.type": "zstd",
    "connections.max.idle.ms": 60_000,
    "fetch.max.bytes": 60_000_000,
    "metadata.max.age.ms": 60_000,
    "reconnect.backoff.max.ms": 5_000,
    "reconnect.backoff.ms": 50,
    "retry.backoff.max.ms": 900,
    "retry.backoff.ms": 90,
    "socket.connection.setup.timeout.ms": 9_000,
    "socket.keepalive.enable": True,
    "socket.nagle.disable": True,
    "socket.receive.buffer.bytes": 100_000,
    "socket.send.buffer.bytes": 100_000,
    "socket.timeout.ms": 30_000,
    "topic.metadata.refresh.interval.ms": 60_000,
}
ALIASES = {
    "request.required.acks",
    "delivery.timeout.ms",
    "max.in.flight",
    "max.in.flight.requests.per.connection",
    "retries",
    "message.send.max.retries",
    "auto.commit.enable",
    "auto.commit.interval.ms",
    "default.topic.config",
    "partitioner",
    "queuing.strategy",
    "group.instance.id",
    "transactional.id",
    "security.protocol",
    "bootstrap.servers",
    "metadata.broker.list",
    "ssl.endpoint.identification.algorithm",
    "enable.ssl.certificate.verification",
    "ssl.ca.location",
    "sasl.password",
    "sasl.oauthbearer.config",
    "plugin.library.paths",
    "ssl.engine.location",
    "debug",
    "log_level",
    "interceptors",
    "test.mock.num.brokers",
    "message.copy.max.bytes",
}
"""Names by which librdkafka takes what is decided here, or what loads or shows something."""


def chosen(settings: str) -> str:
    address = 'bootstrap: "localhost:9092"'
    return with_change(address, f"{address}\n  settings: {{{settings}}}")


def test_every_setting_that_may_be_chosen_is_tried_here() -> None:
    assert set(CHOSEN) == set(ALLOWED_SETTINGS)


def test_none_of_them_is_one_that_is_decided_here() -> None:
    decided = {*READING, *UNCOMMITTED, *WRITING, *TRANSACTIONS, *ALIASES}
    assert decided.isdisjoint(ALLOWED_SETTINGS)


def test_chosen_settings_reach_librdkafka_and_leave_all_others_as_they_are() -> None:
    plain, with_all = Connection("localhost:9092"), Connection("localhost:9092", settings=CHOSEN)
    for role, made in (
        (READING, consumer_of),
        (writing_settings_of(with_all), producer_of),
    ):
        before = settings_of(plain) | (READING if role is READING else writing_settings_of(plain))
        after = settings_of(with_all) | role
        made(after)
        changed = {name for name in before if before[name] != after[name]}
        assert changed <= set(CHOSEN)
        assert {
            name: after[name] for name in after.keys() - before.keys()
        }.items() <= CHOSEN.items()
    assert writing_settings_of(with_all).items() >= WRITING.items()


@pytest.mark.parametrize(
    "name", sorted({*READING, *WRITING, *TRANSACTIONS, *UNCOMMITTED, *ALIASES})
)
def test_what_could_weaken_a_promise_is_refused(name: str, tmp_path: Path) -> None:
    error = read_error(tmp_path, chosen(f"{name}: canary"))
    assert f"{name} may not be chosen" in error
    assert "canary" not in error


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("client.rak: a", "did you mean client.rack?"),
        ("client.rack: 7", "client.rack: write text"),
        ("socket.timeout.ms: '7'", "socket.timeout.ms: write a whole number"),
        ("socket.timeout.ms: true", "socket.timeout.ms: write a whole number"),
    ],
)
def test_a_mistake_is_named(settings: str, told: str, tmp_path: Path) -> None:
    assert told in read_error(tmp_path, chosen(settings))


def test_settings_of_librdkafka_need_librdkafka(tmp_path: Path) -> None:
    text = chosen("client.rack: a").replace("  settings:", "  client: kafka-python\n  settings:")
    assert "are those of librdkafka" in read_error(tmp_path, text)


def test_a_pipeline_file_hands_its_settings_on(tmp_path: Path) -> None:
    connection = read(tmp_path, chosen("client.rack: eu-1")).connection()
    assert settings_of(connection)["client.rack"] == "eu-1"
