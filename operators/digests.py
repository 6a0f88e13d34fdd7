"""Digests of many strings of bytes, without a key."""

from collections.abc import Sequence
from hashlib import blake2b

from fugu.operators import compiled
from fugu.operators.byte_column import ByteColumn, bytes_of
from fugu.operators.byte_fields import DIGEST_BYTES
from fugu.operators.keyed_prefix import WORTH_HASHING


def digests_of(contents: Sequence[bytes], digest_bytes: int = DIGEST_BYTES) -> ByteColumn:
    """Return BLAKE2b of each string, of so many bytes, a multiple of 8; what draws are bound to
    has 32.

    >>> digests_of([b"anna", b""])[0] == blake2b(b"anna", digest_size=32).digest()
    True
    """
    column = ByteColumn.of(contents)
    if len(column) >= WORTH_HASHING and column.lengths.all() and compiled.available():
        from fugu.operators.compiled_digests import compiled_digests

        return ByteColumn.of_table(compiled_digests(column, digest_bytes))
    digests = [blake2b(content, digest_size=digest_bytes).digest() for content in column]
    return ByteColumn.of_table(bytes_of(b"".join(digests)).reshape(-1, digest_bytes))
