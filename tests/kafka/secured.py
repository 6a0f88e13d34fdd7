"""The secured listeners of the test broker: certificates, a user, and how to connect."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from tests.kafka.certificates import Certificate, make_authority, make_certificate
from tests.kafka.clients import kafka_section
from tests.kafka.ports import HOST
from tests.kafka.signing_key import SigningKey

Protocol = Literal["SSL", "SASL_SSL", "SASL_PLAINTEXT"]
Section = dict[str, Any]

OAUTH_OFFSET = 5
PORT_OFFSETS: dict[Protocol, int] = {"SSL": 2, "SASL_SSL": 3, "SASL_PLAINTEXT": 4}
CANARY = "canary-"
USER, PASSWORD, KEY_PASSWORD = "fugu", f"{CANARY}sasl-password", f"{CANARY}key-password"
PASSWORD_VARIABLES = {
    "FUGU_TEST_SASL_PASSWORD": PASSWORD,
    "FUGU_TEST_KEY_PASSWORD": KEY_PASSWORD,
    "FUGU_TEST_WRONG_PASSWORD": f"{CANARY}wrong-password",
}


class SecuredListeners:
    """Hold what `deploy/kafka/start --secured FOLDER` serves besides the plain listener."""

    def __init__(self, folder: Path, plain_port: int) -> None:
        self.folder = folder
        self._plain_port = plain_port
        self.plain = f"{HOST}:{plain_port}"
        folder.mkdir(mode=0o700)
        self.authority = make_authority(folder, "ca")
        self.client = make_certificate(folder, USER, self.authority, key_password=KEY_PASSWORD)
        self.other_authority = make_authority(folder, "other-ca")
        self.stranger = make_certificate(folder, "stranger", self.other_authority)
        broker = make_certificate(folder, "broker", self.authority, alternative=f"IP:{HOST}")
        key_and_certificate = broker.key.read_bytes() + broker.certificate.read_bytes()
        (folder / "server.pem").write_bytes(key_and_certificate)
        (folder / "users").write_text(f"{USER} {PASSWORD}\n")
        self.signing = SigningKey.made(folder / "signing.key")
        (folder / "jwks.json").write_bytes(self.signing.jwks)

    def ssl(self, **changes: object) -> Section:
        """A `kafka` section that proves who it is by a certificate."""
        certificate = self.certificate(self.client)
        return self._section("SSL", {"ca": str(self.authority.certificate)} | certificate | changes)

    def sasl(self, protocol: Protocol, mechanism: str, **changes: object) -> Section:
        """A `kafka` section that proves who it is by a password."""
        security = {
            "mechanism": mechanism,
            "username": USER,
            "password": {"env": "FUGU_TEST_SASL_PASSWORD"},
        }
        if protocol == "SASL_SSL":
            security["ca"] = str(self.authority.certificate)
        return self._section(protocol, security | changes)

    def oauth(self, url: str, **changes: object) -> Section:
        """A `kafka` section that proves who it is by a token of the server at this address."""
        authority = str(self.authority.certificate)
        oauth = {
            "token_url": url,
            "client_id": USER,
            "client_secret": {"env": "FUGU_TEST_SASL_PASSWORD"},
            "ca": authority,
        }
        security = {"mechanism": "OAUTHBEARER", "ca": authority, "oauth": oauth | changes}
        section = self._section("SASL_SSL", security)
        return section | {"bootstrap": f"{HOST}:{self._plain_port + OAUTH_OFFSET}"}

    @staticmethod
    def certificate(certificate: Certificate) -> Section:
        """The part of `kafka.security` that presents a certificate."""
        part: Section = {
            "certificate": str(certificate.certificate),
            "key": str(certificate.key),
        }
        if certificate.key_password:
            part["key_password"] = {"env": "FUGU_TEST_KEY_PASSWORD"}
        return part

    def _section(self, protocol: Protocol, security: Mapping[str, object]) -> Section:
        given = {name: value for name, value in security.items() if value is not None}
        return {
            **kafka_section(f"{HOST}:{self._plain_port + PORT_OFFSETS[protocol]}"),
            "security": {"protocol": protocol, **given},
        }
