"""Say where a client gets the tokens of OAUTHBEARER: from an OIDC server, by client credentials."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, StringConstraints, model_validator

from fugu.dataflows.base.errors import UnusableField
from fugu.dataflows.base.section import Section
from fugu.dataflows.kafka.password import Password, Resolve
from fugu.dataflows.kafka.tls import Tls

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
