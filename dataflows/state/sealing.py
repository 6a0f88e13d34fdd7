"""Seal what a state topic holds, so that nothing counts there but what the pipeline wrote.

Claim. A record bears a valid seal if and only if somebody who has the secret wrote this key and
this value at this very offset: the seal is a keyed digest over topic identity, partition, offset,
key and value. A record that was forged, changed, or copied from another place bears none.

With a second secret, values are encrypted before they are sealed, so that brokers, and who reads
their disks, learn no key or value. Every record has a random number of its own. A number is never
counted, because a block that was aborted is written again with other rows.
"""

import os
from hmac import compare_digest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.install import install
from fugu.operators.columns import encode_fields
from fugu.operators.randomness import KeyedPrefix, Secret

SEAL_BYTES = 16
_NONCE_BYTES = 12


class Sealing:
    """Seal values for the topic of this identity, by a sub-key of a secret.

    The secret is the one of pseudonyms, which outlives a change of the key of all draws. Values
    are encrypted with AES-256-GCM by a sub-key of `hiding`, if that is given.
    """

    def __init__(self, topic: str, secret: Secret, hiding: Secret | None = None) -> None:
        self._topic = topic
        self._prefix = KeyedPrefix(secret.derive("fugu-state-seal-v1"), topic)
        self._cipher = None
        if hiding is not None:
            try:
                from cryptography.hazmat.primitives.ciphers.aead import AESGCM
            except ImportError:
                raise ConfigurationError(
                    f"state.encrypt needs cryptography. Install it:  {install('encrypted')}"
                ) from None
            self._cipher = AESGCM(hiding.derive("fugu-state-v1").reveal())

    def hidden(self, partition: int, key: bytes, value: bytes) -> bytes:
        """Return a value as it is to be sealed."""
        if self._cipher is None:
            return value
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, value, self._place(partition, key))

    def sealed(self, partition: int, offset: int, key: bytes, hidden: bytes) -> bytes:
        """Return what the topic may hold at an offset."""
        return self._seal(partition, offset, key, hidden) + hidden

    def unsealed(self, partition: int, offset: int, key: bytes, content: bytes) -> bytes:
        """Return what was sealed for this place; `ValueError` where there is no valid seal."""
        seal, hidden = content[:SEAL_BYTES], content[SEAL_BYTES:]
        if not compare_digest(seal, self._seal(partition, offset, key, hidden)):
            raise ValueError("a record bears no seal of this pipeline for its place")
        return hidden

    def shown(self, partition: int, key: bytes, hidden: bytes) -> bytes:
        """Return what `hidden` was given; `ValueError` if it was encrypted with another secret."""
        if self._cipher is None:
            return hidden
        from cryptography.exceptions import InvalidTag

        nonce, content = hidden[:_NONCE_BYTES], hidden[_NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, content, self._place(partition, key))
        except InvalidTag:
            raise ValueError("a record is encrypted with another secret") from None

    def _seal(self, partition: int, offset: int, key: bytes, hidden: bytes) -> bytes:
        hasher = self._prefix.hasher.copy()
        hasher.update(encode_fields(partition, offset, key))
        hasher.update(hidden)
        return hasher.digest()[:SEAL_BYTES]

    def _place(self, partition: int, key: bytes) -> bytes:
        return encode_fields(self._topic, partition, key)
