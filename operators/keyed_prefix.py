"""Keyed hashes that begin with the same fields."""

from binascii import hexlify
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fugu.operators import compiled
from fugu.operators.byte_column import ByteColumn
from fugu.operators.byte_fields import Field, encode_field, encode_fields
from fugu.operators.secret import Secret

if TYPE_CHECKING:
    from fugu.operators.compiled_keyed_words import Absorbed

RELEASE_IDS_PER_BLOCK = 4
RELEASE_ID_BYTES = 16
WORTH_COMPILING = 16
"""Fewer blocks are hashed sooner than a compiled function is called."""


class KeyedPrefix:
    """Absorb a key and the fields that many hashes begin with, once; it is never shown."""

    def __init__(self, secret: Secret, *fields: Field) -> None:
        self.hasher = secret.hasher(*fields)
        self._secret, self._fields = secret, fields

    def __repr__(self) -> str:
        return "KeyedPrefix(hidden)"

    def __reduce__(self) -> str:
        raise TypeError("what a secret was absorbed into is never stored")

    @cached_property
    def compiled(self) -> "Absorbed":
        """Return the same for `fugu.operators.compiled`."""
        from fugu.operators.compiled_keyed_words import Absorbed

        return Absorbed.of(self._secret.reveal(), encode_fields(*self._fields))

    def digests_of(self, contents: Sequence[bytes]) -> bytes:
        """Return the digest of the prefix and one more field, 64 bytes each."""
        if len(contents) >= WORTH_COMPILING and compiled.available():
            from fugu.operators.compiled_keyed_words import draw_digests

            return draw_digests(self.compiled, ByteColumn.of(contents)).tobytes()
        digests = []
        for content in contents:
            hasher = self.hasher.copy()
            hasher.update(encode_field(content))
            digests.append(hasher.digest())
        return b"".join(digests)

    def names_of(self, contents: Sequence[bytes]) -> list[bytes]:
        """Return the first part of each digest as 32 hexadecimal digits."""
        parts = names_in(self.digests_of(contents))
        names: list[bytes] = parts[::RELEASE_IDS_PER_BLOCK].tolist()
        return names


def names_in(digests: bytes) -> NDArray[np.bytes_]:
    """Return all bytes as hexadecimal digits, cut into release ids."""
    return np.frombuffer(hexlify(digests), dtype=f"S{2 * RELEASE_ID_BYTES}")
