"""Read the `kafka` section of a pipeline file into a `Connection`.

The section names files and environment variables; a `Connection` holds what is in them. It shows no
secret, and every client translates the same one into the settings of its library.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)

from fugu.dataflows.base.section import Section
from fugu.dataflows.kafka.credentials import (
    ClientCertificate,
    OAuth,
    Password,
    Resolve,
    Tls,
    TokenServer,
)

# What decides whether records are written once, in order, and only committed ones are read, is
# never among them, nor is how a connection is protected, nor what loads code or logs what is sent.

_INTEGER, _SETTING_TEXT, _FLAG = (int,), (str,), (bool,)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "broker.address.family": _SETTING_TEXT,
    "client.dns.lookup": _SETTING_TEXT,
    "client.id": _SETTING_TEXT,
    "client.rack": _SETTING_TEXT,
    "compression.level": _INTEGER,
    "compression.type": _SETTING_TEXT,
    "connections.max.idle.ms": _INTEGER,
    "fetch.max.bytes": _INTEGER,
    "metadata.max.age.ms": _INTEGER,
    "reconnect.backoff.max.ms": _INTEGER,
    "reconnect.backoff.ms": _INTEGER,
    "retry.backoff.max.ms": _INTEGER,
    "retry.backoff.ms": _INTEGER,
    "socket.connection.setup.timeout.ms": _INTEGER,
    "socket.keepalive.enable": _FLAG,
    "socket.nagle.disable": _FLAG,
    "socket.receive.buffer.bytes": _INTEGER,
    "socket.send.buffer.bytes": _INTEGER,
    "socket.timeout.ms": _INTEGER,
    "topic.metadata.refresh.interval.ms": _INTEGER,
}
ALLOWED_SETTINGS = tuple(_TYPES)
PRODUCING = frozenset({"compression.level", "compression.type"})
"""Name the settings that only writers have."""

Value = str | int | bool


def _allowed(settings: dict[str, Value]) -> dict[str, Value]:
    for name, value in settings.items():
        kinds = _TYPES.get(name)
        if kinds is None:
            close = get_close_matches(name, ALLOWED_SETTINGS, n=1)
            meant = f"did you mean {close[0]}?" if close else "delete it"
            raise ValueError(
                f"{name} may not be chosen, because settings could undo what is promised or show "
                f"what is private; {meant} These may be: {', '.join(ALLOWED_SETTINGS)}"
            )
        if type(value) not in kinds:
            kind = {int: "a whole number", str: "text", bool: "true or false"}[kinds[0]]
            raise ValueError(f"{name}: write {kind}")
    return settings


ChosenSettings = Annotated[dict[str, Value], AfterValidator(_allowed)]

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
OAUTHBEARER: Final = "OAUTHBEARER"
Mechanism = Literal["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN", "OAUTHBEARER"]
Library = Literal["auto", "kafka-python", "librdkafka"]
_TLS_FIELDS = ("ca", "certificate", "key", "key_password")
_SASL_FIELDS = ("mechanism", "username", "password", "oauth")
_PROOFS = {OAUTHBEARER: ("mechanism", "oauth"), None: ("mechanism", "username", "password")}
_TEXT = {"type": "string"}
LONGEST_TRANSACTION = timedelta(seconds=60)
"""The longest epoch that is published in a transaction: readers wait for all of it."""
MAX_UNPACKED_BYTES = 128 * 1024 * 1024
_MOST_UNPACKED_BYTES = 512 * 1024 * 1024
_ADDRESSES = re.compile(r"^[^\s,]+:\d{1,5}(,[^\s,]+:\d{1,5})*$")


@dataclass(frozen=True)
class Credentials:
    """Hold the name and password for SASL."""

    mechanism: Mechanism
    username: str
    password: SecretStr


@dataclass(frozen=True)
class Connection:
    """Hold all that a client needs; `embedded` is the development broker of `fugu demo`."""

    bootstrap: str
    embedded: bool = False
    tls: Tls | None = None
    credentials: Credentials | None = None
    client: Library = "auto"
    transactions: "bool | Literal['auto']" = False
    """Say whether epochs are published in transactions; `auto` asks the broker."""
    because: str = ""
    """Say why they are not, where the pipeline file decides it."""
    settings: "Mapping[str, str | int | bool]" = field(default_factory=dict)
    """Further settings of librdkafka, all of them allowed."""
    tokens: TokenServer | None = None
    """Say where tokens come from that are shown in the place of a password."""
    max_unpacked_bytes: int = MAX_UNPACKED_BYTES
    """The most bytes that a compressed batch of records may have once it is unpacked."""
    client_id: str = "fugu"
    """The name by which Kafka limits a client and writes of it, unless `settings` has another."""

    @property
    def protocol(self) -> Protocol:
        """Return Kafka's name for what protects the connection.

        >>> Connection("localhost:9093", tls=Tls()).protocol
        'SSL'
        """
        if self.credentials is None and self.tokens is None:
            return "PLAINTEXT" if self.tls is None else "SSL"
        return "SASL_PLAINTEXT" if self.tls is None else "SASL_SSL"


class Security(Section):
    """Configure TLS and SASL. Without `ca`, the authorities of the system are trusted."""

    protocol: Protocol
    """Say how a connection is protected, by Kafka's names."""
    ca: str | None = None
    """The file (PEM) of the authorities that signed the broker's certificate."""
    certificate: str | None = None
    """The file (PEM) of the certificate that is shown to the broker."""
    key: str | None = None
    """The file (PEM) of the key that belongs to `certificate`."""
    key_password: Password | None = None
    """Say where the password of `key` is."""
    mechanism: Mechanism | None = None
    """Say how SASL proves who this is: by a password, or by tokens of `oauth`."""
    username: Annotated[str, Field(min_length=1)] | None = None
    """The name of the user for SASL."""
    password: Password | None = None
    """Say where the password of the user is."""
    oauth: OAuth | None = None
    """Say where tokens are for OAUTHBEARER."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        tls, sasl = self._given(_TLS_FIELDS), self._given(_SASL_FIELDS)
        if tls and self.protocol.endswith("PLAINTEXT"):
            raise ValueError(
                f"{self.protocol} has no TLS, but {', '.join(tls)} is given; write protocol: "
                f"{self.protocol.replace('PLAINTEXT', 'SSL')}, or delete what only TLS needs"
            )
        if sasl and not self.protocol.startswith("SASL_"):
            raise ValueError(
                f"{self.protocol} has no SASL, but {', '.join(sasl)} is given; write protocol: "
                "SASL_SSL, or delete what only SASL needs"
            )
        wanted = _PROOFS.get(self.mechanism, _PROOFS[None])
        missing = [field for field in wanted if field not in sasl]
        if missing and self.protocol.startswith("SASL_"):
            raise ValueError(f"{self.protocol} lacks {', '.join(missing)}; add what is missing")
        if more := [field for field in sasl if field not in wanted]:
            raise ValueError(f"{self.mechanism} needs no {', '.join(more)}; delete it")
        if (self.certificate is None) != (self.key is None):
            absent = "key" if self.key is None else "certificate"
            raise ValueError(f"certificate and key belong together; add {absent}: PATH")
        if self.key_password is not None and self.key is None:
            raise ValueError("key_password is given without a key; add certificate and key")
        if self.mechanism in ("PLAIN", OAUTHBEARER) and self.protocol == "SASL_PLAINTEXT":
            what = "password" if self.mechanism == "PLAIN" else "token"
            raise ValueError(
                f"{self.mechanism} would send the {what} for everybody on the way to read; write "
                "protocol: SASL_SSL, or mechanism: SCRAM-SHA-512"
            )
        return self

    def tls(self, resolve: Resolve) -> Tls | None:
        """Return the certificates to use, their files tried out; None without TLS."""
        if self.protocol.endswith("PLAINTEXT"):
            return None
        client = None
        if self.certificate is not None and self.key is not None:
            password = None
            if self.key_password is not None:
                password = self.key_password.read("key_password", resolve)
            client = ClientCertificate(resolve(self.certificate), resolve(self.key), password)
        tls = Tls(None if self.ca is None else resolve(self.ca), client)
        tls.context()
        return tls

    def credentials(self, resolve: Resolve) -> Credentials | None:
        """Return user and password; None where the protocol has no SASL."""
        if self.mechanism is None or self.username is None or self.password is None:
            return None
        password = self.password.read("password", resolve)
        return Credentials(self.mechanism, self.username, password)

    def tokens(self, resolve: Resolve) -> TokenServer | None:
        """Return where tokens come from; None where a password is proved, or nothing."""
        return None if self.oauth is None else self.oauth.server(resolve)

    def files(self, resolve: Resolve) -> list[Path]:
        """Return the files that certificates and secrets are read from."""
        names = [self.ca, self.certificate, self.key]
        for secret in (self.key_password, self.password):
            names.append(None if secret is None else secret.file)
        if self.oauth is not None:
            names += [self.oauth.ca, self.oauth.client_secret.file]
        return [resolve(name) for name in names if name is not None]

    def _given(self, fields: tuple[str, ...]) -> list[str]:
        return [field for field in fields if getattr(self, field) is not None]


def _joined(bootstrap: object) -> object:
    """Write a list of addresses as librdkafka and kafka-python do."""
    if isinstance(bootstrap, list) and all(isinstance(address, str) for address in bootstrap):
        return ",".join(bootstrap)
    return bootstrap


def _addresses(bootstrap: str) -> str:
    if not _ADDRESSES.match(bootstrap):
        raise ValueError(
            "write host:port, such as localhost:9092; several as a list, or with commas, no spaces"
        )
    return bootstrap


def _transactions(given: object, read: ValidatorFunctionWrapHandler) -> object:
    try:
        return read(given)
    except ValidationError:
        raise ValueError("write true, false or auto") from None


class Kafka(Section):
    """Say where Kafka is and how to log in. `embedded` is the development broker of `fugu demo`."""

    bootstrap: Annotated[
        str,
        BeforeValidator(_joined),
        AfterValidator(_addresses),
        WithJsonSchema({"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}),
    ]
    """Say where brokers are: `host:port`, or a list of them."""
    broker: Literal["apache", "embedded"] = "apache"
    """Say which broker this is: `embedded` is the development broker of `fugu demo`."""
    client: Library = "auto"
    """Say which library talks to Kafka; `auto` takes librdkafka where it can be used."""
    security: Security = Security(protocol="PLAINTEXT")
    """Say how connections are protected; without it, they are not."""
    transactions: Annotated[bool | Literal["auto"], WrapValidator(_transactions)] = False
    """Say whether an epoch is published in a transaction; `auto`: where client and broker can."""
    max_unpacked_bytes: Annotated[int, Field(ge=1_048_576, le=_MOST_UNPACKED_BYTES)] = (
        MAX_UNPACKED_BYTES
    )
    """The most bytes that a compressed batch of records may have once it is unpacked."""
    settings: ChosenSettings = Field(default_factory=dict)
    """Settings of librdkafka that may be chosen, by their names there."""

    @model_validator(mode="after")
    def _check_settings(self) -> Self:
        if self.settings and self.client == "kafka-python":
            raise ValueError("settings: are those of librdkafka; write client: librdkafka")
        return self

    @model_validator(mode="after")
    def _check_transactions(self) -> Self:
        if self.transactions is True and self.client == "kafka-python":
            raise ValueError("transactions need librdkafka: write client: librdkafka")
        if self.transactions is True and self.broker == "embedded":
            raise ValueError(
                "transactions need Apache Kafka: the embedded broker shows aborted records"
            )
        return self

    def without_transactions(self, every: timedelta) -> str:
        """Say why epochs of this length are not published in transactions; empty if they may be."""
        if self.transactions is False:
            return "kafka.transactions is false"
        if self.broker == "embedded":
            return "the embedded broker shows aborted records"
        if self.client == "kafka-python":
            return "kafka.client is kafka-python"
        if every > LONGEST_TRANSACTION:
            longest = LONGEST_TRANSACTION.total_seconds()
            return f"state.every is longer than {longest:g} s, and so would a transaction be"
        return ""

    def connection(self, resolve: Resolve, every: timedelta) -> Connection:
        """Return the connection of the section; `UnusableField` names a field of `security`.

        Epochs last `every`, which a transaction must outlast.
        """
        because = self.without_transactions(every)
        return Connection(
            bootstrap=self.bootstrap,
            embedded=self.broker == "embedded",
            tls=self.security.tls(resolve),
            credentials=self.security.credentials(resolve),
            client=self.client,
            transactions=False if because else self.transactions,
            because=because,
            settings=self.settings,
            tokens=self.security.tokens(resolve),
            max_unpacked_bytes=self.max_unpacked_bytes,
        )
