"""A broker that refuses, or hangs up without a word: the error says all that it may mean."""

import socketserver
import time
from threading import Thread

import pytest
from kafka import KafkaConsumer
from kafka.errors import KafkaError, SaslAuthenticationFailedError, UnsupportedSaslMechanismError
from pydantic import SecretStr

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.base.logs import silent
from fugu.dataflows.kafka import kafka_python_refusals
from fugu.dataflows.kafka.connection import Connection, Credentials
from fugu.dataflows.kafka.kafka_python import KafkaPythonClient
from fugu.dataflows.kafka.kafka_python_refusals import reach, refusal
from fugu.dataflows.kafka.kafka_python_settings import settings_of

CREDENTIALS = Credentials("SCRAM-SHA-256", "fugu", SecretStr("canary"))


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (SaslAuthenticationFailedError, "does not accept user fugu with this password and SCRAM"),
        (UnsupportedSaslMechanismError, "does not offer SCRAM-SHA-256"),
    ],
)
def test_a_refused_user_reads_what_to_correct(error: type[KafkaError], says: str) -> None:
    said = refusal(error(), Connection("localhost:9092", credentials=CREDENTIALS))
    assert said is not None
    assert said.startswith(says)


@pytest.mark.parametrize("embedded", [False, True])
def test_a_broker_that_is_away_is_waited_for_aloud_and_not_for_long(
    embedded: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kafka_python_refusals, "_ATTEMPT_SECONDS", (0.1, 0.2, 1.0))
    client = KafkaPythonClient(Connection("127.0.0.1:1", embedded=embedded))
    begun = time.monotonic()
    refused = r"^Kafka at 127\.0\.0\.1:1 cannot be reached"
    with silent(), pytest.raises(KafkaUnavailable, match=refused):
        client.topic("vitals.raw")
    assert time.monotonic() - begun < 10
    [said] = [one.getMessage() for one in caplog.records if one.name.startswith("fugu")]
    assert said == "Kafka at 127.0.0.1:1 does not answer; waiting for it, for 1 s more"


@pytest.mark.parametrize(
    ("credentials", "may_mean"),
    [
        (None, "does not seem to speak PLAINTEXT: correct kafka.security.protocol, or the port"),
        (
            CREDENTIALS,
            "does not seem to speak SASL_PLAINTEXT, to offer SCRAM-SHA-256 or to accept user fugu "
            "there: correct kafka.security, or the port",
        ),
    ],
)
def test_a_broker_that_hangs_up_gets_every_meaning_named(
    credentials: Credentials | None, may_mean: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_python_refusals, "_ATTEMPT_SECONDS", (1.0,))
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as silent:
        Thread(target=silent.serve_forever, daemon=True).start()
        connection = Connection(f"127.0.0.1:{silent.server_address[1]}", credentials=credentials)
        with pytest.raises(KafkaUnavailable) as refused:
            reach(KafkaConsumer, connection, settings_of(connection))
        silent.shutdown()
    assert may_mean in str(refused.value)
