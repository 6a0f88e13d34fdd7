"""Recognise published records: the names of their headers, and a digest of all their bytes."""

from hashlib import blake2b

from fugu.dataflows.base.batches import Header
from fugu.operators.byte_fields import encode_fields

RELEASE_HEADER = "fugu-release"
GUARANTEE_HEADER = "fugu-guarantee"
SEAL_HEADER = "fugu-seal"
"""The header with the seal of an entry of an internal log."""


def release_id_of(headers: list[Header]) -> bytes | None:
    """Return the release id that a record carries; None if it has none."""
    return next((content for name, content in headers if name == RELEASE_HEADER), None)


def record_digest(key: bytes | None, value: bytes, headers: list[Header], timestamp: int) -> bytes:
    """Return the digest that must be equal when a release is published again.

    A seal is a digest of the same content, and entries of versions before have none.
    """
    flat = [part for one in headers if one[0] != SEAL_HEADER for part in one]
    present = 0 if key is None else 1
    content = encode_fields(present, key or b"", value, timestamp, *flat)
    return blake2b(content, digest_size=32).digest()
