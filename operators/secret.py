"""The key of all draws and pseudonyms."""

from hashlib import blake2b

from fugu.operators.byte_fields import Field, encode_fields

SECRET_BYTES = 32


class Secret:
    """Hold 32 secret bytes that never show in a repr or a traceback, and are never pickled."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) != SECRET_BYTES:
            raise ValueError(f"a secret has {SECRET_BYTES} bytes, this one has {len(key)}")
        self._key = key

    def __repr__(self) -> str:
        return "Secret(hidden)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is never stored")

    def hasher(self, *prefix: Field) -> "blake2b":
        """Return a keyed BLAKE2b-512 that has absorbed `prefix`; copy it to absorb more."""
        return blake2b(encode_fields(*prefix), key=self._key)

    def derive(self, *purpose: Field) -> "Secret":
        """Return a sub-key for one purpose, unrelated to every draw."""
        return Secret(self.hasher("fugu-subkey-v1", *purpose).digest()[:SECRET_BYTES])

    def ratchet(self) -> "Secret":
        """Return the key that follows this one; it does not give this one away."""
        return Secret(blake2b(b"ratchet", key=self._key, digest_size=SECRET_BYTES).digest())

    def reveal(self) -> bytes:
        """Return the bytes, for the one place that writes a new key file."""
        return self._key

    def check_value(self) -> str:
        """Return a fingerprint that tells two secrets apart and says nothing about either."""
        return self.hasher("fugu-check-v1").hexdigest()[:32]
