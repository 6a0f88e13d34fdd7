"""Keyed hashes that begin with the same fields."""

from binascii import hexlify
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from fugu.operators import compiled
from fugu.operators.byte_column import ByteColumn, bytes_of
from fugu.operators.byte_fields import Field, encode_field, encode_fields
from fugu.operators.mechanism import Integers
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

    def names_of(self, contents: Sequence[bytes], places: Integers) -> ByteColumn:
        """Return names of 32 hexadecimal digits: those at the places among the parts of digests.

        A digest is that of the prefix and one more field, and has `RELEASE_IDS_PER_BLOCK` parts.
        """
        if len(contents) >= WORTH_COMPILING and compiled.available():
            from fugu.operators.compiled_hexadecimal import write_parts
            from fugu.operators.compiled_keyed_words import draw_digests

            return write_parts(draw_digests(self.compiled, ByteColumn.of(contents)), places)
        digests = []
        for content in contents:
            hasher = self.hasher.copy()
            hasher.update(encode_field(content))
            digests.append(hasher.digest())
        return names_in(b"".join(digests)).taken(places)


def names_in(digests: bytes) -> ByteColumn:
    """Return all bytes as hexadecimal digits, cut into release ids."""
    return ByteColumn.of_table(bytes_of(hexlify(digests)).reshape(-1, 2 * RELEASE_ID_BYTES))
