"""A Kafka that does not let us in: one error says why and what to do, and shows no password."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

from tests.kafka.pipelines import (
    RunningPipeline,
    check_refusal,
    pipeline_document,
    running,
    write_pipeline,
)
from tests.kafka.ports import HOST
from tests.kafka.secured import CANARY, USER, Section, SecuredListeners
from tests.kafka.topics import TopicFactory
from tests.kafka.validating import validated

Change = Callable[[SecuredListeners], Section]
WRONG = {"env": "FUGU_TEST_WRONG_PASSWORD"}


def scram(secured: SecuredListeners, **changes: object) -> Section:
    return secured.sasl("SASL_SSL", "SCRAM-SHA-512", **changes)


def elsewhere(section: Section, bootstrap: str) -> Section:
    return section | {"bootstrap": bootstrap}


def other_host(section: Section) -> Section:
    return elsewhere(section, section["bootstrap"].replace(HOST, "localhost"))


REFUSALS: dict[str, tuple[Change, str]] = {
    "wrong password": (
        lambda secured: scram(secured, password=WRONG),
        "does not accept user fugu with this password and SCRAM-SHA-512 "
        "(SaslAuthenticationFailedError). Correct username, password or mechanism",
    ),
    "mechanism that is not offered": (
        lambda secured: secured.sasl("SASL_PLAINTEXT", "SCRAM-SHA-256"),
        "does not offer SCRAM-SHA-256",
    ),
    "unknown authority": (
        lambda secured: scram(secured, ca=str(secured.other_authority.certificate)),
        "a certificate that is not trusted here (unable to get local issuer certificate). Write "
        "the file with the certificate of the authority that signed it as kafka.security.ca",
    ),
    "certificate for another host": (
        lambda secured: other_host(secured.ssl()),
        "for another host (Hostname mismatch, certificate is not valid for 'localhost')",
    ),
    "client certificate of a stranger": (
        lambda secured: secured.ssl(
            **{"key_password": None} | secured.certificate(secured.stranger)
        ),
        "refuses the client certificate",
    ),
    "no client certificate": (
        lambda secured: secured.ssl(certificate=None, key=None, key_password=None),
        "wants a client certificate",
    ),
    "user on a port without SASL": (
        lambda secured: elsewhere(secured.sasl("SASL_PLAINTEXT", "SCRAM-SHA-512"), secured.plain),
        "expects no user on this port (IllegalSaslStateError). Write kafka.security.protocol: "
        "PLAINTEXT",
    ),
    "no TLS on a TLS port": (
        lambda secured: {"bootstrap": scram(secured)["bootstrap"]},
        "which seems to want TLS (InvalidReceiveError). Write kafka.security.protocol: SSL",
    ),
}


@pytest.fixture(scope="module")
def refused(
    secured: SecuredListeners, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, RunningPipeline]]:
    with ExitStack() as stack:
        pipelines = {}
        for name, (section, _) in REFUSALS.items():
            document = pipeline_document("replaced:1", "source", "sink")
            document["kafka"] = section(secured)
            path = write_pipeline(tmp_path_factory.mktemp("refused"), document)
            pipelines[name] = stack.enter_context(running(path))
        yield pipelines


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_one_clear_error(name: str, refused: dict[str, RunningPipeline]) -> None:
    said = check_refusal(refused[name])
    [_, error] = said.splitlines()
    assert error.startswith("fugu: Kafka at ")
    assert REFUSALS[name][1] in said
    assert CANARY not in said


@pytest.mark.parametrize("granted", [ACLOperation.READ, ACLOperation.DESCRIBE])
def test_a_missing_right_is_told_from_a_missing_topic(
    granted: ACLOperation,
    secured: SecuredListeners,
    bootstrap: str,
    topics: TopicFactory,
    tmp_path: Path,
) -> None:
    topic = topics("protected")
    protected = ResourcePattern(ResourceType.TOPIC, topic)
    holder = "User:other" if granted is ACLOperation.READ else f"User:{USER}"
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_acls([ACL(holder, "*", granted, ACLPermissionType.ALLOW, protected)])
    found = validated(tmp_path, secured.sasl("SASL_SSL", "SCRAM-SHA-512"), topic)
    assert found["kafka"].startswith(f"topic {topic}: the user of the pipeline lacks a right")
