"""Certificates and passwords are renewed while pipelines run, and nothing is lost or doubled."""

from pathlib import Path
from uuid import uuid4

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ScramMechanism, UserScramCredentialUpsertion

from tests.kafka.certificates import make_certificate
from tests.kafka.secured import SecuredListeners
from tests.kafka.test_folder import RECORDS, Tenant, folder_of, process_id
from tests.kafka.topics import TopicFactory

USER, OLD, NEW = "renewing", "canary-old", "canary-new"


def set_password(bootstrap: str, password: str) -> None:
    """Give the user this password, with which alone Kafka accepts it from now on."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        scram = ScramMechanism.SCRAM_SHA_512
        admin.alter_user_scram_credentials(
            [UserScramCredentialUpsertion(USER, scram, password.encode())]
        )


def renew_certificate(secured: SecuredListeners, folder: Path) -> None:
    """Replace certificate and key by new ones, one file after the other."""
    new = make_certificate(folder, "renewed", secured.authority)
    (folder / "me.pem").write_bytes(new.certificate.read_bytes())
    (folder / "me.key").write_bytes(new.key.read_bytes())


@pytest.mark.acceptance
def test_a_new_certificate_and_a_new_password_count_without_a_restart_from_outside(
    secured: SecuredListeners, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    unique, password = uuid4().hex[:8], tmp_path / "password"
    folder = tmp_path / "pipelines"
    set_password(bootstrap, OLD)
    password.write_text(OLD)
    me = make_certificate(tmp_path, "me", secured.authority)
    certificate = Tenant(bootstrap, folder, f"certificate-{unique}", topics("certificate"))
    certificate.document["kafka"] = secured.ssl(
        **SecuredListeners.certificate(me), key_password=None
    )
    secret = Tenant(bootstrap, folder, f"password-{unique}", topics("password"))
    proof = {"username": USER, "password": {"file": str(password)}}
    secret.document["kafka"] = secured.sasl("SASL_SSL", "SCRAM-SHA-512", **proof)
    secret.document["kafka"] |= {"client": "librdkafka"}
    secret.document["state"] = {"store": "kafka", "every": "200ms"}
    both = certificate, secret
    with folder_of(folder, *both) as process:
        for tenant in both:
            tenant.feed()
            process.wait_until(tenant.releases(RECORDS))
        before = [process_id(process, tenant) for tenant in both]
        set_password(bootstrap, NEW)
        renew_certificate(secured, tmp_path)
        password.write_text(NEW)
        process.wait_until(lambda: process.stderr.count(": starting again") == 2)
        for tenant in both:
            tenant.feed()
            process.wait_until(tenant.publishes(2 * RECORDS))
            process.wait_until(tenant.pages.is_healthy)
        assert [process_id(process, tenant) for tenant in both] == before
        assert process.stop() == 0, process.stderr
    assert "ended by itself" not in process.stderr
    assert "canary" not in process.stderr
    assert [tenant.published() for tenant in both] == [2 * RECORDS] * 2
