"""Read what `kafka.security` points to: name bad files by line, show no password."""

import logging
import socket
import ssl
import traceback
from pathlib import Path

import pytest
from kafka.errors import SaslAuthenticationFailedError
from pydantic import SecretStr

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kafka import kafka_python_settings
from fugu.dataflows.kafka.connection import Connection, Credentials
from fugu.dataflows.kafka.credentials import Tls
from fugu.dataflows.kafka.kafka_python_refusals import Ears
from fugu.dataflows.kafka.kafka_python_settings import settings_of
from tests.dataflows.kafka.test_connection_section import CANARY, OAUTH, SASL, SERVER, secured
from tests.dataflows.pipeline.pipeline_files import read
from tests.kafka.certificates import make_authority, make_certificate

MUTUAL = "protocol: SSL, ca: ca.pem, certificate: me.pem, key: me.key"
OPENED = f"{MUTUAL}, key_password: {{env: FUGU_TEST_PASSWORD}}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    authority = make_authority(folder, "ca")
    make_certificate(folder, "me", authority, key_password=CANARY)
    make_certificate(folder, "other", authority)
    (folder / "password").write_text(f"{CANARY}\n")
    (folder / "empty").write_text("\n")
    (folder / "two-lines").write_text(f"{CANARY}\n{CANARY}\n")
    (folder / "bytes").write_bytes(b"\xff")
    return folder


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUGU_TEST_PASSWORD", CANARY)
    monkeypatch.setenv("FUGU_TEST_OTHER", f"{CANARY}-other")
    monkeypatch.setenv("FUGU_TEST_EMPTY", "")


def connection(folder: Path, security: str) -> Connection:
    return read(folder, secured(security)).connection()


@pytest.mark.parametrize("source", ["env: FUGU_TEST_PASSWORD", "file: password"])
def test_passwords_are_read_and_never_shown(source: str, folder: Path) -> None:
    keys = f"certificate: me.pem, key: me.key, key_password: {{{source}}}"
    made = connection(folder, f"{SASL}, password: {{{source}}}, ca: ca.pem, {keys}")
    assert made.tls is not None
    assert made.tls.client is not None
    assert made.credentials is not None
    for password in (made.tls.client.password, made.credentials.password):
        assert password is not None
        assert password.get_secret_value() == CANARY
    assert CANARY not in repr(made) + str(made) + repr(settings_of(made))


@pytest.mark.parametrize(
    ("security", "says"),
    [
        (f"{SASL}, password: {{env: FUGU_TEST_NONE}}", "password: environment variable FUGU_TEST"),
        (f"{SASL}, password: {{env: FUGU_TEST_EMPTY}}", "is not set or empty; put the"),
        (f"{SASL}, password: {{file: none}}", "none cannot be read (No such file or directory)"),
        (f"{SASL}, password: {{file: empty}}", "empty is not set or empty"),
        (f"{SASL}, password: {{file: two-lines}}", "must hold the password alone, one line"),
        (f"{SASL}, password: {{file: bytes}}", "bytes cannot be read (it is not UTF-8 text)"),
        ("protocol: SSL, ca: none.pem", "ca: file {}/none.pem cannot be read (No such file"),
        ("protocol: SSL, ca: ./", "ca: file {} cannot be read (Is a directory)"),
        ("protocol: SSL, ca: password", "ca: {}/password holds no certificate; give a PEM file"),
        (OPENED.replace("me.pem", "none.pem"), "certificate: file {}/none.pem cannot be read"),
        (OPENED.replace("me.key", "none.key"), "key: file {}/none.key cannot be read"),
        (MUTUAL, "key: {}/me.key is encrypted; add key_password: {{env: NAME}} or {{file"),
        (OPENED.replace("PASSWORD", "OTHER"), "key_password: does not open {}/me.key; give the"),
        (OPENED.replace("me.pem", "other.pem"), "key: {}/me.key is not the key of {}/other.pem"),
        (OPENED.replace("me.key", "me.pem"), "certificate: {}/me.pem and {}/me.pem must be PEM"),
    ],
)
def test_an_error_names_the_line_and_what_to_write(security: str, says: str, folder: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        connection(folder, security)
    error = str(caught.value)
    assert error.startswith(f"{folder}/pipeline.yaml:15: kafka.security.")
    assert says.format(*[folder] * says.count("{}")) in error
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_tls_is_recent_and_verifies_who_answers() -> None:
    context = Tls().context()
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_a_handshake_that_nobody_answers_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_python_settings, "HANDSHAKE_SECONDS", 0.05)
    context = settings_of(Connection("localhost:9093", tls=Tls()))["ssl_context"]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        plain = socket.create_connection(silent.getsockname())
        unshaken = context.wrap_socket(
            plain, server_hostname="localhost", do_handshake_on_connect=False
        )
        with unshaken, pytest.raises(ssl.SSLEOFError):
            unshaken.do_handshake()


def test_a_refusal_under_a_running_pipeline_is_a_warning_and_not_a_flood(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ears = Ears()
    ears.reached = Connection(
        "localhost:9093", credentials=Credentials("SCRAM-SHA-512", "fugu", SecretStr(CANARY))
    )
    refused = {"msg": "Connection lost: %s", "args": (SaslAuthenticationFailedError(),)}
    for _ in range(3):
        ears.handle(logging.makeLogRecord(refused))
    assert len(caplog.messages) == 1
    assert "does not accept user fugu" in caplog.text
    assert CANARY not in caplog.text


def test_the_secret_of_a_client_of_tokens_is_never_shown(folder: Path) -> None:
    server = SERVER.replace("env: A", "env: FUGU_TEST_PASSWORD")
    made = connection(folder, f"{OAUTH}, oauth: {{{server}, ca: ca.pem}}")
    assert made.protocol == "SASL_SSL"
    assert made.tokens is not None
    assert made.tokens.client_secret.get_secret_value() == CANARY
    assert CANARY not in repr(made) + repr(settings_of(made))
    with pytest.raises(ConfigurationError, match=r"oauth: ca .*password holds no certificate"):
        connection(folder, f"{OAUTH}, oauth: {{{server}, ca: password}}")
