"""Check and load the certificates of a TLS connection: whom we trust, and who we are."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from fugu.dataflows.base.errors import UnusableField


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
