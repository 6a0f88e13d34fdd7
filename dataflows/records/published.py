"""Recognise published records: the names of their headers, and a digest of all their bytes."""

from collections.abc import Sequence
from hashlib import blake2b

from fugu.dataflows.base.batches import Header
from fugu.operators.byte_fields import Field, encode_fields

RELEASE_HEADER = "fugu-release"
GUARANTEE_HEADER = "fugu-guarantee"
SEAL_HEADER = "fugu-seal"
"""The header with the seal of an entry of an internal log."""


def release_id_of(headers: list[Header]) -> bytes | None:
    """Return the release id that a record carries; None if it has none."""
    return next((content for name, content in headers if name == RELEASE_HEADER), None)


def record_digest(key: bytes | None, value: bytes, headers: list[Header], timestamp: int) -> bytes:
    """Return the digest that must be equal when a release is published again."""
    present = 0 if key is None else 1
    content = encode_fields(present, key or b"", value, timestamp, *fields_of(headers))
    return blake2b(content, digest_size=32).digest()


def fields_of(headers: Sequence[Header]) -> list[Field]:
    """Return names and contents of headers in their order; others may write some without content,
    which is as an empty one."""
    return [part or b"" for one in headers for part in one]
