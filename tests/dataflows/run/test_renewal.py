"""A pipeline starts again with new certificates once all are there, and can be used."""

from pathlib import Path

import pytest

from fugu.dataflows.run.renewal import Renewal
from tests.dataflows.kafka.test_connection_section import CANARY, secured
from tests.dataflows.pipeline.pipeline_files import read, with_change
from tests.kafka.certificates import make_authority, make_certificate

MUTUAL = "protocol: SSL, ca: ca.pem, certificate: me.pem, key: me.key"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_certificate(tmp_path, "me", make_authority(tmp_path, "ca"))
    return tmp_path


def test_nothing_is_due_while_files_stay(folder: Path) -> None:
    renewal = Renewal(read(folder, secured(MUTUAL)))
    assert not renewal.is_due()
    assert not renewal.is_due()


def test_it_is_due_once_all_files_are_new_and_at_rest(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    renewal = Renewal(read(folder, secured(MUTUAL)))
    new = folder / "new"
    new.mkdir()
    authority = make_authority(new, "ca")
    made = make_certificate(new, "me", authority)
    (folder / "me.pem").write_bytes(made.certificate.read_bytes())
    looks = [renewal.is_due() for _ in range(3)]
    assert looks == [False, False, False], "the key is still that of the certificate before"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    (folder / "me.key").write_bytes(made.key.read_bytes())
    (folder / "ca.pem").write_bytes(authority.certificate.read_bytes())
    assert [renewal.is_due() for _ in range(2)] == [False, True]


def test_a_password_that_is_gone_is_told_and_not_shown(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "password").write_text(f"{CANARY}\n")
    sasl = "protocol: SASL_SSL, mechanism: PLAIN, username: a, password: {file: password}"
    renewal = Renewal(read(folder, secured(sasl)))
    (folder / "password").write_text("")
    assert [renewal.is_due() for _ in range(3)] == [False] * 3
    (folder / "password").write_text(f"{CANARY}2\n")
    assert [renewal.is_due() for _ in range(2)] == [False, True]
    assert "is not set or empty" in caplog.text
    assert CANARY not in caplog.text


def test_a_rotated_password_of_the_registry_counts_as_one_of_kafka_does(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(f"{CANARY}\n")
    registry = "{url: 'http://localhost:8081', username: me, password: {file: password}}"
    value = f"value: zone\n  format: {{kind: avro, registry: {registry}}}"
    renewal = Renewal(read(tmp_path, with_change("value: zone", value)))
    (tmp_path / "password").write_text("")
    assert [renewal.is_due() for _ in range(3)] == [False] * 3
    (tmp_path / "password").write_text(f"{CANARY}2\n")
    assert [renewal.is_due() for _ in range(2)] == [False, True]
