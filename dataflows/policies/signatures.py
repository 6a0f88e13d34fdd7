"""Sign changes of policies with private keys, and tell which are signed by an owner.

A header of the record has the signature:

    fugu-signature: ed25519 NAME BASE64     with the private key of the owner of this name
    fugu-signature: hmac BASE64             HMAC-SHA-256 with the secret of the pipeline

What is signed begins with `fugu policy change 1`, and names the topic, the key and the value, with
a zero byte between them; no topic and no key that is used has one. So a signature says nothing
about another topic, collection or policy. That the same record is not used twice is up to the
`sequence` in its value. A record without a value has none, and is never signed.
"""

import base64
import hmac
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fugu.dataflows.base.batches import Header
from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.install import install
from fugu.dataflows.policies.changes import UnusableChange, change
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.fields import OwnerSection, of_base64
from fugu.operators.randomness import Secret
from fugu.operators.swellfish.changes import AnyChange

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


HEADER = "fugu-signature"
_PURPOSE = b"fugu policy change 1"
_LONGEST_HEADER = 500
_PRINTABLE = re.compile(rb"[a-zA-Z0-9._/-]{1,499}")


class _Wrong(Exception):
    """Report that a signature is not what it should be, and what to do."""


@dataclass(frozen=True)
class Signatures:
    """Tell which changes of a topic are signed by an owner of what they change.

    With `required`, there are no others. `secret` is that of owners by HMAC.
    """

    document: PolicyDocument
    topic: str
    required: bool = False
    secret: Secret | None = None

    def __post_init__(self) -> None:
        if any(owner.ed25519 is not None for owner in self.document.owners.values()):
            require_cryptography()

    def read(
        self, key: bytes | None, value: bytes | None, headers: Sequence[Header], timestamp: int
    ) -> AnyChange:
        """Read the change of a record, which says whether an owner has signed it.

        `UnusableChange` if there is none, or its signature is refused.
        """
        owner = self.by_owner(key, value, headers)
        return change(key, value, self.document, owner=owner, timestamp=timestamp)

    def by_owner(self, key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> bool:
        """Return whether an owner of the collection has signed a record.

        `UnusableChange` if a signature is wrong, or not there and `required`.
        """
        try:
            is_owner = self._by_owner(key or b"", value, headers)
            if self.required and not is_owner:
                raise _Wrong("must be that of an owner of the collection; let one of them sign")
        except _Wrong as error:
            name = f"{key.decode()}: " if key is not None and _PRINTABLE.fullmatch(key) else ""
            raise UnusableChange(f"{name}signature: {error}") from None
        return is_owner

    def by_owner_if_genuine(self, key: bytes | None, headers: Sequence[Header]) -> bool | None:
        """Return whether a record would be that of an owner if its code by HMAC is right; None
        where it has no such code, or the secret is known."""
        written = [content or b"" for name, content in headers if name == HEADER]
        code = any(content.startswith(b"hmac ") for content in written)
        if not code or self.secret is not None:
            return None
        return any(owner.hmac for owner in self._owners(key or b""))

    def _owners(self, key: bytes) -> Sequence[OwnerSection]:
        """Return whose signature counts. Whoever makes a collection, or moves people to one and
        so away from another one, must own all of them."""
        collection, of_policy, _ = key.partition(b"/")
        if not of_policy:
            return self.document.section.owners or []
        return self.document.owners_of(collection.decode(errors="replace"))

    def _by_owner(self, key: bytes, value: bytes | None, headers: Sequence[Header]) -> bool:
        written = [content for name, content in headers if name == HEADER]
        if not written:
            return False
        if value is None:
            raise _Wrong("is of no value; write the removal with a sequence, and sign that")
        if len(written) > 1:
            raise _Wrong("is there more than once; write one header")
        message = _message(self.topic, key, value)
        owners = self._owners(key)
        match _words(written[0] or b""):
            case ["ed25519", name, signature]:
                return self._signer(name, _decoded(signature), message) in owners
            case ["hmac", signature]:
                self._require_secret(_decoded(signature), message)
                return any(owner.hmac for owner in owners)
        raise _Wrong("cannot be read; write ed25519 NAME BASE64, or hmac BASE64")

    def _signer(self, name: str, signature: bytes, message: bytes) -> OwnerSection:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        owner = self.document.owners.get(name)
        if owner is None or owner.public_key is None:
            raise _Wrong("is of a name without an ed25519 key in the policy document; add it there")
        try:
            Ed25519PublicKey.from_public_bytes(owner.public_key).verify(signature, message)
        except InvalidSignature:
            raise _Wrong(
                "is not that of this topic, key and value by this owner; sign the record as it is"
            ) from None
        return owner

    def _require_secret(self, code: bytes, message: bytes) -> None:
        if self.secret is None:
            raise _Wrong("is by hmac, and the pipeline file has no source.policies.hmac; add it")
        if not hmac.compare_digest(_code(self.secret, message), code):
            raise _Wrong(
                "is not that of this topic, key and value with the secret of the pipeline; sign "
                "the record as it is"
            )


def signed(
    topic: str, key: bytes, value: bytes, private_key: "Ed25519PrivateKey", name: str
) -> Header:
    """Return the header by which the owner of this name signs a record."""
    signature = private_key.sign(_message(topic, key, value))
    return HEADER, b"ed25519 %s %s" % (name.encode(), base64.b64encode(signature))


def signed_with_secret(topic: str, key: bytes, value: bytes, secret: Secret) -> Header:
    """Return the header by which whoever knows the secret signs a record."""
    code = _code(secret, _message(topic, key, value))
    return HEADER, b"hmac " + base64.b64encode(code)


def require_cryptography() -> None:
    """Raise `ConfigurationError` where the package for Ed25519 is not installed."""
    try:
        import cryptography.hazmat.primitives.asymmetric.ed25519  # noqa: F401
    except ImportError:
        raise ConfigurationError(
            "ed25519 signatures need the package cryptography. Install it:  "
            f"{install('signed')}  or let owners sign by hmac"
        ) from None


def _message(topic: str, key: bytes, value: bytes) -> bytes:
    return b"\0".join([_PURPOSE, topic.encode(), key, value])


def _code(secret: Secret, message: bytes) -> bytes:
    return hmac.digest(secret.reveal(), message, "sha256")


def _words(header: bytes) -> list[str]:
    if len(header) > _LONGEST_HEADER or not header.isascii():
        return []
    return header.decode().split(" ")


def _decoded(signature: str) -> bytes:
    content = of_base64(signature)
    if content is None:
        raise _Wrong("is not valid base64; sign the record as it is")
    return content


def write_private_key(path: Path) -> "Ed25519PrivateKey":
    """Make a private key and write it to a new file, readable by its owner only."""
    require_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.generate()
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise ConfigurationError(f"{path} is there already; name a file that is not") from None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written ({error.strerror})") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        file.flush()
        os.fsync(file.fileno())
    return key


def read_private_key(path: Path) -> "Ed25519PrivateKey":
    """Read the private key of a file; `ConfigurationError` if it holds none."""
    require_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ConfigurationError(_no_key(path)) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigurationError(_no_key(path))
    return key


def public_key_of(key: "Ed25519PrivateKey") -> str:
    """Return the public key as a policy document has it."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def owner_with(key: "Ed25519PrivateKey", document: PolicyDocument) -> str:
    """Return the name by which a policy document knows a key."""
    public = public_key_of(key)
    for owner in document.owners.values():
        if owner.ed25519 == public:
            return owner.name
    raise ConfigurationError(
        f"the policy document has no owner with this key; add {{name: ..., ed25519: {public}}} to "
        "the owners of the document or of a collection"
    )


def _no_key(path: Path) -> str:
    return f"{path} holds no Ed25519 key in PEM without a password; make one with  fugu policy keys"
