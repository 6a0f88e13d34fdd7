"""Seal what a state topic holds, so that brokers, and who reads their disks, learn no key or value.

Every record has a random number of its own, and is bound to its topic, partition and key: a block
that is moved elsewhere cannot be opened. A number is never counted, because a block that was
aborted is written again with other rows.
"""

import os

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.install import install
from fugu.operators.byte_fields import encode_fields
from fugu.operators.secret import Secret

_NONCE_BYTES = 12


class Sealing:
    """Seal values with AES-256-GCM, by a sub-key of a secret, for one topic."""

    def __init__(self, secret: Secret, topic: str) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise ConfigurationError(
                f"state.encrypt needs cryptography. Install it:  {install('encrypted')}"
            ) from None
        self._cipher = AESGCM(secret.derive("fugu-state-v1").reveal())
        self._topic = topic

    def sealed(self, partition: int, key: bytes, value: bytes) -> bytes:
        """Return what the topic may hold."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, value, self._place(partition, key))

    def opened(self, partition: int, key: bytes, value: bytes) -> bytes:
        """Return what was sealed; `ValueError` if it was changed, or sealed for another place."""
        from cryptography.exceptions import InvalidTag

        nonce, content = value[:_NONCE_BYTES], value[_NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, content, self._place(partition, key))
        except InvalidTag:
            raise ValueError("a sealed record was changed or moved") from None

    def _place(self, partition: int, key: bytes) -> bytes:
        return encode_fields(self._topic, partition, key)
