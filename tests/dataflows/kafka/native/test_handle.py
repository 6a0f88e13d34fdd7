"""Turn what librdkafka refuses to begin with into one error, which shows no secret."""

import pytest

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.native.handle import consumer_of, producer_of
from fugu.dataflows.kafka.native.settings import READING, settings_of

CANARY = "secret-canary"
SETTINGS = settings_of(Connection("localhost:9092"))


def test_a_setting_that_does_not_exist_is_named() -> None:
    with pytest.raises(KafkaUnavailable, match=r"does not take the setting no\.such\.thing"):
        producer_of({**SETTINGS, "no.such.thing": CANARY})


def test_a_value_that_is_refused_is_not_shown() -> None:
    with pytest.raises(KafkaUnavailable, match=r"does not take the setting linger\.ms") as caught:
        producer_of({**SETTINGS, "linger.ms": CANARY})
    assert CANARY not in str(caught.value)


def test_a_file_that_cannot_be_read_is_an_error() -> None:
    settings = {**SETTINGS, "security.protocol": "SSL", "ssl.key.location": f"/nowhere/{CANARY}"}
    with pytest.raises(KafkaUnavailable, match="cannot be started with these settings") as caught:
        consumer_of(settings | READING)
    assert CANARY not in str(caught.value)
