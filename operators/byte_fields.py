"""Fields as bytes: what keyed hashes are made of, so that no two sequences of fields are the same.

Each is u32le(length) ‖ bytes. Integers are 8-byte big-endian two's complement, text is UTF-8.
"""

import struct
from hashlib import blake2b

import numpy as np

from fugu.operators.byte_column import ByteColumn, Bytes, table_of_integers
from fugu.operators.mechanism import Integers

DIGEST_BYTES = 32
Field = bytes | str | int

_INTEGER = struct.Struct(">q")
_INTEGER_LENGTH = struct.pack("<I", _INTEGER.size)


def encode_fields(*fields: Field) -> bytes:
    """Encode a sequence of fields injectively.

    >>> encode_fields("ab", 1).hex()
    '020000006162080000000000000000000001'
    """
    return b"".join(map(encode_field, fields))


def encode_field(value: Field) -> bytes:
    """Encode one field."""
    if isinstance(value, int):
        return _INTEGER_LENGTH + _INTEGER.pack(value)
    content = value.encode() if isinstance(value, str) else value
    return len(content).to_bytes(4, "little") + content


def encode_each(numbers: Integers, before: bytes = b"") -> ByteColumn:
    """Encode a number as a field behind `before`, for each of the numbers."""
    return ByteColumn.of_table(table_of_fields(numbers, before))


def encode_rows(count: int, *columns: Integers) -> ByteColumn:
    """Encode a number of each column as fields, for each of so many rows.

    >>> encode_rows(2, np.array([1, 2]), np.array([3, 4]))[1] == encode_fields(2, 4)
    True
    """
    nothing = np.empty((count, 0), dtype=np.uint8)
    return ByteColumn.of_table(np.hstack([nothing, *map(table_of_fields, columns)]))


def table_of_fields(numbers: Integers, before: bytes = b"") -> Bytes:
    """Return the same as the rows of a table."""
    return table_of_integers(numbers, before + _INTEGER_LENGTH)


def digest_of(*fields: Field) -> bytes:
    """Return 32 bytes that identify a sequence of fields."""
    return blake2b(encode_fields(*fields), digest_size=DIGEST_BYTES).digest()


def binding_digest(*fields: Field) -> bytes:
    """Return a 32-byte digest of fields, such as the exact data that a draw is applied to."""
    return blake2b(encode_fields(*fields), digest_size=DIGEST_BYTES).digest()
