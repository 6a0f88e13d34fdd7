"""Every mistake in `kafka.security` is answered with the line and with what to write instead."""

from pathlib import Path

import pytest

from tests.dataflows.pipeline.pipeline_files import read, read_error, with_change

CANARY = "canary-password"
OAUTH = "protocol: SASL_SSL, mechanism: OAUTHBEARER"
SERVER = "token_url: 'https://id.example/token', client_id: fugu, client_secret: {env: A}"
SASL = "protocol: SASL_SSL, mechanism: SCRAM-SHA-512, username: fugu"


def secured(security: str) -> str:
    """A pipeline file whose line 15 is the `security` section."""
    address = 'bootstrap: "localhost:9092"'
    return with_change(address, f"{address}\n  security: {{{security}}}")


def test_without_a_section_nothing_is_secured(tmp_path: Path) -> None:
    assert read(tmp_path).connection().protocol == "PLAINTEXT"


def test_without_ca_the_authorities_of_the_system_are_trusted(tmp_path: Path) -> None:
    tls = read(tmp_path, secured("protocol: SSL")).connection().tls
    assert tls is not None
    assert tls.authorities is None


@pytest.mark.parametrize(
    ("security", "says"),
    [
        ("ca: ca.pem", "security.protocol: is required; add it"),
        ("protocol: TLS", "security.protocol: input should be 'PLAINTEXT', 'SSL', 'SASL_PLAIN"),
        (
            "protocol: SSL, certifcate: a.pem",
            "unknown key; did you mean certificate?",
        ),
        ("protocol: PLAINTEXT, ca: a.pem", "has no TLS, but ca is given; write protocol: SSL"),
        (
            "protocol: SASL_PLAINTEXT, certificate: a, key: b",
            "has no TLS, but certificate, key is given; write protocol: SASL_SSL",
        ),
        ("protocol: SSL, password: {env: A}", "has no SASL, but password is given; write protocol"),
        ("protocol: SASL_SSL, username: a", "SASL_SSL lacks mechanism, password; add what is"),
        (SASL, "SASL_SSL lacks password; add what is missing"),
        (f"{SASL}, password: {{env: A}}, mechanism: OAUTHBEARER", "mechanism is written twice"),
        ("protocol: SASL_SSL, mechanism: GSSAPI", "'SCRAM-SHA-512', 'PLAIN' or 'OAUTHBEARER'"),
        (f"{OAUTH}", "SASL_SSL lacks oauth; add what is missing"),
        (f"{OAUTH}, oauth: {{{SERVER}}}, username: a", "OAUTHBEARER needs no username; delete it"),
        (f"{SASL}, password: {{env: A}}, oauth: {{{SERVER}}}", "needs no oauth; delete it"),
        (
            f"protocol: SASL_PLAINTEXT, mechanism: OAUTHBEARER, oauth: {{{SERVER}}}",
            "would send the token for everybody on the way to read; write protocol: SASL_SSL",
        ),
        (
            f"{OAUTH}, oauth: {{{SERVER.replace('https', 'http')}}}",
            "http would send the secret for everybody on the way to read; write https",
        ),
        (f"{OAUTH}, oauth: {{{SERVER.replace('//', '//me:pw@')}}}", "without a user in it"),
        (f"{OAUTH}, oauth: {{{SERVER}, extensions: {{auth: a}}}}", "the name of the token itself"),
        ("protocol: SASL_SSL, username: ''", "username: string should have at least 1 character"),
        ("protocol: SSL, certificate: a.pem", "belong together; add key: PATH"),
        ("protocol: SSL, key: a.pem", "belong together; add certificate: PATH"),
        ("protocol: SSL, key_password: {env: A}", "without a key; add certificate and key"),
        (
            "protocol: SASL_PLAINTEXT, mechanism: PLAIN, username: a, password: {env: A}",
            "for everybody on the way to read; write protocol: SASL_SSL",
        ),
    ],
)
def test_an_error_names_the_line_and_what_to_write(
    security: str, says: str, tmp_path: Path
) -> None:
    error = read_error(tmp_path, secured(security))
    assert error.startswith("pipeline.yaml:15: ")
    assert says in error
    assert "\n" not in error


@pytest.mark.parametrize(
    "password",
    [
        CANARY,
        f"{{{CANARY}}}",
        f"{{env: {CANARY}}}",
        f"[{CANARY}]",
        f"{{env: A, {CANARY}: b}}",
        "{env: A, file: b}",
        "12345",
        "{}",
    ],
)
@pytest.mark.parametrize("field", ["password", "key_password"])
def test_a_password_in_the_file_is_refused_and_not_repeated(
    field: str, password: str, tmp_path: Path
) -> None:
    error = read_error(tmp_path, secured(f"{SASL}, {field}: {password}"))
    assert error.startswith(f"pipeline.yaml:15: kafka.security.{field}")
    assert "write {env: NAME} or {file: PATH}" in error or "write the name of an env" in error
    assert CANARY not in error
