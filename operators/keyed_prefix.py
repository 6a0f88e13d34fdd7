"""Keyed hashes that begin with the same fields."""

from binascii import hexlify
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fugu.operators import compiled
from fugu.operators.byte_column import ByteColumn, bytes_of, table_of_integers
from fugu.operators.byte_fields import Field, encode_field, encode_fields, encode_rows
from fugu.operators.mechanism import Integers
from fugu.operators.secret import Secret

if TYPE_CHECKING:
    from fugu.operators.compiled_keyed_words import Absorbed

RELEASE_IDS_PER_BLOCK = 4
RELEASE_ID_BYTES = 16
WORTH_HASHING = 16
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

    def names_of(self, keys: Sequence[bytes], *numbers: Integers) -> ByteColumn:
        """Return a name for each key, of 32 hexadecimal digits: the first one in its digest.

        More fields of a row are a number of each column of `numbers`.
        """
        tails = encode_rows(len(keys), *numbers)
        if len(keys) >= WORTH_HASHING and compiled.available():
            from fugu.operators.compiled_names import name_keys

            return name_keys(self.compiled, ByteColumn.of(keys), tails)
        return self._names_in_digests(keys, tails)[::RELEASE_IDS_PER_BLOCK]

    def names_of_offsets(self, offsets: Integers) -> ByteColumn:
        """Return a name for each offset: neighbours share a block, whose digest names them all."""
        if len(offsets) >= WORTH_HASHING and compiled.available():
            from fugu.operators.compiled_names import name_offsets

            return name_offsets(self.compiled, offsets)
        blocks = offsets // RELEASE_IDS_PER_BLOCK
        is_new = np.diff(blocks, prepend=blocks[:1] - 1) != 0
        contents = ByteColumn.of_table(table_of_integers(blocks[is_new]))
        names = self._names_in_digests(contents, encode_rows(len(contents)))
        first = (np.cumsum(is_new) - 1) * RELEASE_IDS_PER_BLOCK
        return names.taken(first + offsets % RELEASE_IDS_PER_BLOCK)

    def _names_in_digests(self, contents: Sequence[bytes], tails: ByteColumn) -> ByteColumn:
        """Return all names in the digests of the prefix, one more field, and its tail."""
        digests = []
        for content, tail in zip(contents, tails, strict=True):
            hasher = self.hasher.copy()
            hasher.update(encode_field(content) + tail)
            digests.append(hasher.digest())
        return names_in(b"".join(digests))


def names_in(digests: bytes) -> ByteColumn:
    """Return all bytes as hexadecimal digits, cut into names."""
    return ByteColumn.of_table(bytes_of(hexlify(digests)).reshape(-1, 2 * RELEASE_ID_BYTES))
