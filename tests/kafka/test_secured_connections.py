"""Source, sink and administration over TLS and SASL, on the real broker."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ScramMechanism, UserScramCredentialUpsertion

from fugu.dataflows.kafka.connection import Library
from tests.kafka.clients import both, connected
from tests.kafka.pipelines import (
    RunningPipeline,
    check_refusal,
    pipeline_document,
    running,
    write_pipeline,
)
from tests.kafka.records import Placed, Record, produce, read_topic
from tests.kafka.secured import (
    CANARY,
    KEY_PASSWORD,
    PASSWORD,
    Protocol,
    Section,
    SecuredListeners,
)
from tests.kafka.topics import TopicFactory
from tests.kafka.validating import validated

RECORDS = [Record(b"user-%d" % (i % 5), b'{"zone":"light"}') for i in range(40)]


@pytest.fixture(scope="module", autouse=True)
def misled(
    secured: SecuredListeners, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningPipeline]:
    """TLS on a plain port: it is patient, so it starts before the other tests."""
    document = pipeline_document("replaced:1", "source", "sink")
    document["kafka"] = secured.ssl() | {"bootstrap": secured.plain}
    with running(write_pipeline(tmp_path_factory.mktemp("misled"), document)) as process:
        yield process


def by_certificate(secured: SecuredListeners) -> Section:
    (secured.folder / "key-password").write_text(f"{KEY_PASSWORD}\n")
    return secured.ssl(key_password={"file": str(secured.folder / "key-password")})


def by_password(secured: SecuredListeners) -> Section:
    return secured.sasl("SASL_SSL", "SCRAM-SHA-512")


@both
@pytest.mark.parametrize("prove", [by_certificate, by_password])
def test_a_pipeline_runs_over_a_secured_connection(
    prove: Callable[[SecuredListeners], Section],
    secured: SecuredListeners,
    bootstrap: str,
    topics: TopicFactory,
    tmp_path: Path,
    library: Library,
) -> None:
    source = topics("secured")
    sink = f"{source}.sanitized"
    produce(bootstrap, source, [Placed(0, record) for record in RECORDS])
    document = pipeline_document(bootstrap, source, sink) | {
        "kafka": prove(secured) | {"client": library}
    }
    with running(write_pipeline(tmp_path, document)) as pipeline:
        pipeline.wait_until(lambda: len(read_topic(bootstrap, sink)[0]) == len(RECORDS))
        assert pipeline.stop() == 0
        assert CANARY not in pipeline.stderr


@pytest.mark.parametrize(
    ("protocol", "mechanism"),
    [
        ("SASL_SSL", "SCRAM-SHA-256"),
        ("SASL_SSL", "PLAIN"),
        ("SASL_PLAINTEXT", "SCRAM-SHA-512"),
    ],
)
def test_validate_looks_at_topics_and_names_the_protocol(
    protocol: Protocol,
    mechanism: str,
    secured: SecuredListeners,
    topics: TopicFactory,
    tmp_path: Path,
) -> None:
    section, source = secured.sasl(protocol, mechanism), topics("validated")
    found = validated(tmp_path, section, source)
    client = connected(secured.plain).name
    assert found["kafka"] == f"{section['bootstrap']}, {protocol}, {client}"
    assert found["source.topic"] == f"{source}, 1 partition"


def test_a_user_name_may_hold_the_signs_that_scram_reserves(
    secured: SecuredListeners, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        scram = ScramMechanism.SCRAM_SHA_512
        user = UserScramCredentialUpsertion("a=b,c", scram, PASSWORD.encode())
        admin.alter_user_scram_credentials([user])
    section = secured.sasl("SASL_SSL", "SCRAM-SHA-512", username="a=b,c")
    assert "source.topic" in validated(tmp_path, section, topics("reserved"))


def test_tls_on_a_plain_port_is_one_clear_error(misled: RunningPipeline) -> None:
    said = check_refusal(misled)
    assert "does not seem to speak SSL: correct kafka.security.protocol, or the port" in said
    assert CANARY not in said
