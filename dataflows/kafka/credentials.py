"""Read how a connection is secured: passwords, certificates and tokens; nothing ever shows them."""

import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, StringConstraints, model_validator

from fugu.dataflows.base.errors import UnusableField
from fugu.dataflows.base.section import Section, is_name_of_variable

Resolve = Callable[[str], Path]
"""Turn a path in the pipeline file into a path on this machine."""


def _elsewhere(value: object) -> object:
    """Check the source without repeating it: it may be a password by mistake."""
    if not (isinstance(value, dict) and len(value) == 1 and value.keys() <= {"env", "file"}):
        raise ValueError(
            "write {env: NAME} or {file: PATH}; the pipeline file itself holds no password"
        )
    if "env" in value and not is_name_of_variable(value["env"]):
        raise ValueError("env: write the name of an environment variable, such as KAFKA_PASSWORD")
    return value


class PasswordSource(Section):
    """Name an environment variable, or a file with one line."""

    env: str | None = None
    """The environment variable that holds the password."""
    file: str | None = None
    """The file that holds the password, on one line."""

    def read(self, field: str, resolve: Resolve) -> SecretStr:
        """Return the password; errors name `field`."""
        if self.env is not None:
            where = f"environment variable {self.env}"
            password = os.environ.get(self.env, "")
        else:
            path = resolve(str(self.file))
            where = f"file {path}"
            password = _only_line(path, field)
        if not password:
            raise UnusableField(field, f"{where} is not set or empty; put the password there")
        if not password.isprintable():
            raise UnusableField(field, f"{where} must hold the password alone, one line of text")
        return SecretStr(password)


Password = Annotated[PasswordSource, BeforeValidator(_elsewhere)]


def _only_line(path: Path, field: str) -> str:
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except OSError as error:
        reason = error.strerror or "input/output error"
    raise UnusableField(field, f"file {path} cannot be read ({reason})")


@dataclass(frozen=True)
class ClientCertificate:
    """Hold a certificate and its key, both PEM; the password opens the key."""

    certificate: Path
    key: Path
    password: SecretStr | None = None


@dataclass(frozen=True)
class Tls:
    """Hold the certificates of the authorities we trust (the system's if None), and our own."""

    authorities: Path | None = None
    client: ClientCertificate | None = None

    def context(self) -> ssl.SSLContext:
        """Return a context for TLS 1.2 or later that verifies certificate and host name.

        Raises `UnusableField` about a file that cannot be used.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.authorities is None:
            context.load_default_certs()
        else:
            _load_authorities(context, self.authorities)
        if self.client is not None:
            _load_client(context, self.client)
        return context


def _load_authorities(context: ssl.SSLContext, path: Path) -> None:
    _check_readable("ca", path)
    try:
        context.load_verify_locations(path)
    except ssl.SSLError:
        raise UnusableField(
            "ca", f"{path} holds no certificate; give a PEM file (-----BEGIN CERTIFICATE-----)"
        ) from None


def _load_client(context: ssl.SSLContext, client: ClientCertificate) -> None:
    _check_readable("certificate", client.certificate)
    _check_readable("key", client.key)
    asked = False

    def password() -> str:
        nonlocal asked
        asked = True
        if client.password is None:
            raise UnusableField(
                "key",
                f"{client.key} is encrypted; add key_password: {{env: NAME}} or {{file: PATH}}",
            )
        return client.password.get_secret_value()

    try:
        context.load_cert_chain(client.certificate, client.key, password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise UnusableField(
                "key", f"{client.key} is not the key of {client.certificate}; give the two together"
            ) from None
        if asked:
            raise UnusableField(
                "key_password", f"does not open {client.key}; give the password of this key"
            ) from None
        raise UnusableField(
            "certificate",
            f"{client.certificate} and {client.key} must be PEM files: a certificate "
            "(-----BEGIN CERTIFICATE-----) and its key (-----BEGIN ... PRIVATE KEY-----)",
        ) from None


def _check_readable(field: str, path: Path) -> None:
    try:
        path.open("rb").close()
    except OSError as error:
        raise UnusableField(field, f"file {path} cannot be read ({error.strerror})") from None


_LOOPBACK = ("localhost", "127.0.0.1", "::1")
Word = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]+$")]


@dataclass(frozen=True)
class TokenServer:
    """Hold where tokens come from, and by which client; no secret is shown."""

    url: str
    client_id: str
    client_secret: SecretStr
    scope: str | None = None
    extensions: Mapping[str, str] = field(default_factory=dict)
    authorities: Path | None = None


class OAuth(Section):
    """Get tokens for OAUTHBEARER by client credentials, and new ones before they expire."""

    token_url: str
    """The token endpoint of the OIDC server."""
    client_id: Word
    """The id by which the server knows this client."""
    client_secret: Password
    """Say where the secret of the client is."""
    scope: Annotated[str, Field(min_length=1)] | None = None
    """The scope that tokens are asked for."""
    extensions: dict[
        Annotated[str, StringConstraints(pattern=r"^[a-zA-Z]+$")],
        Annotated[str, StringConstraints(pattern=r"^[\x21-\x2b\x2d-\x7e]+$")],
    ] = Field(default_factory=dict)
    """The extensions that some brokers want besides a token, such as logicalCluster."""
    ca: str | None = None
    """The file (PEM) of the authorities that signed the server's certificate."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        url = urlsplit(self.token_url)
        if url.scheme not in ("http", "https") or not url.hostname or url.username or url.password:
            raise ValueError("token_url: write https://HOST/PATH, without a user in it")
        if url.scheme == "http" and url.hostname not in _LOOPBACK:
            raise ValueError(
                "token_url: http would send the secret for everybody on the way to read; write "
                "https"
            )
        if "auth" in self.extensions:
            raise ValueError("extensions: auth is the name of the token itself; delete it")
        return self

    def server(self, resolve: Resolve) -> TokenServer:
        """Return what a client asks, the secret read; `UnusableField` says what is wrong."""
        authorities = None if self.ca is None else resolve(self.ca)
        try:
            Tls(authorities).context()
        except UnusableField as error:
            raise UnusableField("oauth", f"ca {error.advice}") from None
        return TokenServer(
            self.token_url,
            self.client_id,
            self.client_secret.read("oauth", resolve),
            self.scope,
            self.extensions,
            authorities,
        )
