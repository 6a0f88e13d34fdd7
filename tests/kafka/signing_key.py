"""A key that signs tokens (RS256), made and used by the openssl command."""

import subprocess
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

NAME = "tests"


@dataclass(frozen=True)
class SigningKey:
    """A private key in a file; `jwks` is what its owner lets others know."""

    file: Path
    jwks: bytes

    @classmethod
    def made(cls, file: Path) -> "SigningKey":
        _openssl("genpkey", "-algorithm", "RSA", "-out", file)
        said = _openssl("rsa", "-in", file, "-noout", "-modulus").decode()
        modulus = bytes.fromhex(said.strip().removeprefix("Modulus="))
        exponent = (65_537).to_bytes(3)
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": NAME}
        key |= {"n": _text(modulus), "e": _text(exponent)}
        return cls(file, orjson.dumps({"keys": [key]}))

    def signed(self, claims: dict[str, Any]) -> str:
        """A token (RFC 7519) that claims this."""
        head = {"alg": "RS256", "kid": NAME, "typ": "JWT"}
        content = ".".join(_text(orjson.dumps(part)) for part in (head, claims))
        signature = _openssl("dgst", "-sha256", "-sign", self.file, given=content.encode())
        return f"{content}.{_text(signature)}"


def _text(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def _openssl(*arguments: str | Path, given: bytes = b"") -> bytes:
    return subprocess.run(
        ["openssl", *arguments], check=True, capture_output=True, input=given
    ).stdout
