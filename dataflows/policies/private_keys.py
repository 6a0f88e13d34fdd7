"""Make, keep and read the private keys by which owners sign changes of policies."""

import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.signatures import require_cryptography

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


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
